"""Indexes whose communities are known, made of plain sentences."""

from __future__ import annotations

import knotwork
from knotwork._indexing.communities.detection import Meaning, make_network
from knotwork.records import Document

TOPICS = {
    "harbour": ["Alden Pier", "Bromley Dock", "Captain Ferris", "Gull Lighthouse", "Mara Quill"],
    "kitchen": ["Chef Odette", "Saffron House", "Tomas Berg", "Violet Oven", "Wren Bakery"],
    "observatory": ["Doctor Imre", "Helios Mirror", "Juno Dome", "Keppler Lens", "Nadia Sol"],
}
CHINESE = (
    "北京大学位于北京市海淀区。清华大学与北京大学合作建设人工智能实验室。"
    "张伟教授在北京大学领导人工智能实验室。人工智能实验室发布了大型语言模型。"
    "清华大学的李娜教授参与了大型语言模型的评测。北京市支持清华大学和北京大学的研究。"
)


def topic_documents(topic, count=4):
    """Return documents about one topic; each names four of its five names, in pairs."""
    names = TOPICS[topic]
    for number in range(count):
        a, b, c, d, _ = names[number:] + names[:number]
        yield Document(
            f"{topic}-{number}.txt",
            f"{a} visited {b} on a cold morning near the {topic}. "
            f"Later {c} wrote to {d} about the old {topic} ledger. "
            f"Everybody agreed that {a} and {c} should repair the {topic} roof together. "
            f"Note {number} about the {topic} ends with {b} thanking {d}.",
        )


def all_documents(count=4):
    return [document for topic in TOPICS for document in topic_documents(topic, count)]


def make_index(documents, path="memory:"):
    base = knotwork.open(path, embedding_model="none")
    base.index_documents(documents)
    return base


def network_of(mentions, relations, groups=None):
    """Return the network of entities with one meaning each."""
    return make_network(
        ((Meaning(entity), chunk) for entity, chunk in mentions),
        ((Meaning(one), Meaning(other), weight) for one, other, weight in relations),
        groups or {},
    )
