"""A small index in which questions need one passage, or two that a name joins."""

from __future__ import annotations

from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import document_source
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.splitters import make_splitter
from knotwork._indexing.stages import IndexingStages
from knotwork._transform.extractor import make_extractor
from knotwork.records import Document

PASSAGES = {
    "Silver Lantern": "Silver Lantern is a 1954 film directed by Marta Ilves. "
    "It was shot in black and white on a small budget.",
    "Marta Ilves": "Marta Ilves was an Estonian artist. She grew up in Tartu and died in 1988.",
    "Silver Birch": "The silver birch is a tree. Its bark peels and its wood burns well.",
    "Lantern Festival": "The Lantern Festival closes the new year. People hang paper lanterns.",
    "Tartu": "Tartu is a city in Estonia. It lies on the river Emajogi.",
    "Copper Kettle": "Copper Kettle is a 1961 film directed by Olev Raud. It won a prize.",
    "Olev Raud": "Olev Raud was a theatre critic. He was born in Narva.",
    "Emajogi": "The Emajogi is a river that flows through Tartu into a lake.",
    "长江": "长江是中国最长的河流。它发源于青藏高原，流入东海。",
    "武汉": "武汉是湖北省的省会，位于长江中游。黄鹤楼在武汉。",
}


def build_index(store, embedder, passages=PASSAGES, *, documents=None, splitter="whole"):
    extractor = make_extractor()
    stages = IndexingStages(make_splitter(splitter), extractor, Embedding(embedder), Tiers("test"))
    if documents is None:
        documents = [Document(uri=f"{t}.txt", title=t, text=text) for t, text in passages.items()]
    IndexingRun(store, stages).update([document_source(d) for d in documents])
    return store
