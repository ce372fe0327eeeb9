"""Confidence tells questions that the passages answer from those they do not, whatever embeds."""

import pytest

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.evidence_builder import WITH_VECTORS
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork.records import Query

ANSWERABLE = [
    "Who directed the 1954 film Silver Lantern?",
    "In which city did Marta Ilves grow up?",
    "Which river flows through Tartu?",
    "武汉是哪个省的省会？",
    "长江发源于哪里？",
]
FOREIGN = [
    "How many moons does the planet Neptune have?",
    "Which bank financed the railway tunnel under the Gotthard?",
    "亚马逊雨林的面积有多大？",
    "谁发明了蒸汽机车的调速器？",
]


class CalibratedEmbedder(HashingEmbedder):
    """Goes by the name of an embedder whose cosines the confidence knows."""

    def __init__(self):
        super().__init__()
        self.name = next(iter(WITH_VECTORS))


def confidence(index, embedder, question):
    retriever = build_retriever("auto", store=index, embedder=embedder)
    return retriever.retrieve(Query(question, k=5)).confidence


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["text alone", "unknown model"])
@pytest.mark.parametrize("question", ANSWERABLE)
def test_answerable_questions_are_believed(index, embedder, question):
    assert confidence(index, embedder, question) > 0.5


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["text alone", "unknown model"])
@pytest.mark.parametrize("question", FOREIGN)
def test_foreign_questions_are_not(index, embedder, question):
    assert confidence(index, embedder, question) < 0.5


def test_cosines_count_only_for_the_model_they_were_fitted_with(index):
    question = "Which river city was the film artist born in?"
    alone = confidence(index, None, question)
    assert confidence(index, HashingEmbedder(), question) == pytest.approx(alone, abs=0.02)
    assert confidence(index, CalibratedEmbedder(), question) != pytest.approx(alone, abs=0.02)
