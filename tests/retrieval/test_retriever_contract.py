"""The contract of retrievers holds for every retriever and step, with a model and without."""

from functools import partial

import pytest

from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._retrieval.retriever_registry import build_retriever, retriever_names
from knotwork.testing import RetrieverContract, ScriptedChatModel

pytestmark = pytest.mark.slow

COMPOSED = [
    "2*bm25 + dense",
    "fuse(bm25 + dense, by=rank, tokens=60)",
    "decompose > hybrid > diversify > prune",
    "expand > bm25 > budget(tokens=40)",
    "hyde > hybrid > rerank",
    "rewrite > graph > sentence_window(size=1)",
]
WITH_A_MODEL = [
    "text_to_cypher",
    "text_to_sql",
    "hyde(by=model) > bm25",
    "decompose(by=model) > bm25",
    "bm25 > rerank(by=model)",
]


def brained_model():
    brain = RuleBrain()
    return ScriptedChatModel(lambda request: brain(request.messages))


class TestRetrievers(RetrieverContract):
    @pytest.fixture(params=[*retriever_names(), *COMPOSED])
    def build(self, request):
        return partial(build_retriever, request.param)


class TestRetrieversWithAModel(RetrieverContract):
    @pytest.fixture(params=WITH_A_MODEL)
    def build(self, request):
        return partial(build_retriever, request.param, model=brained_model())
