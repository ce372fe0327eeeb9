"""A change among many documents that a model read costs its own chunks, and nothing else."""

import pytest
from tests.indexing.pipeline_fakes import NameExtractor, ParagraphSplitter, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.model_indexing.model_extractor import ModelExtractor
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.stages import IndexingStages
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._run import Stage
from knotwork._stores.urls import open_store
from knotwork.records import ReadingStatus

pytestmark = pytest.mark.slow


NAMES = ("Ada", "Bo", "Cleo", "Dai", "Elif", "Fay", "Gus", "Hana", "Ivo", "Juno", "Kai", "Lena")
COUNT = 300


def texts():
    """Return documents of one short paragraph each, which share their names."""
    pairs = [(a, b) for a in NAMES for b in NAMES if a != b]
    return {
        f"{i:04}.txt": "{} meets {} in room {}".format(*pairs[i % len(pairs)], i)
        for i in range(COUNT)
    }


def read_names(request):
    """Reply with the two names of the text and what they do."""
    text = request.messages[0].content.rpartition("<text>")[2]
    a, _, b = text.split()[:3]
    said = [f"entity | {name} | PERSON | {name} is about" for name in (a, b)]
    return "\n".join([*said, f"relation | {a} | meets | {b} | they met"])


class Library:
    """Documents that are indexed again and again, with one file of calls for all indexes."""

    def __init__(self, folder):
        self.model = ScriptedChatModel(read_names)
        self.cache = CallCache(folder / "calls")
        self._folder = folder

    def index(self, name, documents):
        """Bring an index up to date; return what it holds, the events, and the calls made."""
        store = open_store(str(self._folder / name), create=True)
        before = len(self.model.requests)
        try:
            tiers = Tiers("plain", "read", has_model=True, reads_new=True)
            extractor = ModelExtractor(CachedChatModel(self.model, self.cache), concurrency=4)
            stages = IndexingStages(
                ParagraphSplitter(), NameExtractor(), Embedding(None), tiers, extractor
            )
            sources = [text_source(uri, text) for uri, text in documents.items()]
            events = list(IndexingRun(store, stages).update.run(sources, covers=lambda entry: True))
            assert store.readings.counts().keys() == {ReadingStatus.OK}
            return snapshot(store), events, self.model.requests[before:]
        finally:
            store.close()


@pytest.fixture
def library(tmp_path):
    made = Library(tmp_path)
    yield made
    made.cache.close()


def test_among_many_documents_a_change_costs_its_own_chunks_and_a_deletion_nothing(library):
    documents = texts()
    _, events, calls = library.index("one.knot", documents)
    assert len(calls) == COUNT
    assert sum(event.stage is Stage.ADDED for event in events) == COUNT

    _, _, calls = library.index("one.knot", documents)
    assert calls == []

    more = {**documents, "new.txt": "Ada warns Bo in room 7\n\nBo warns Cleo in room 8"}
    grown, events, calls = library.index("one.knot", more)
    assert [call.source for call in calls] == ["new.txt", "new.txt"]
    assert [e.subject for e in events if e.stage is Stage.ADDED] == ["new.txt"]

    fewer = {uri: text for uri, text in more.items() if uri != "0200.txt"}
    shrunk, events, calls = library.index("one.knot", fewer)
    assert calls == []
    assert [e.subject for e in events if e.stage is Stage.REMOVED] == ["0200.txt"]
    fresh, events, calls = library.index("fresh.knot", fewer)
    assert calls == []  # all of it is kept
    assert sum(event.stage is Stage.ADDED for event in events) == COUNT
    assert shrunk == fresh

    back, _, calls = library.index("one.knot", more)
    assert calls == []
    assert back == grown
