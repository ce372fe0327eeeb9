"""Cached replies: a repeated run makes no call and has the same result."""

from collections import Counter
from pathlib import Path

import pytest
from tests.transform.documents import cut
from tests.transform.model.test_model_extractor import read

from knotwork._extensions.model_indexing.model_extractor import ChunkOutcome, ModelExtractor
from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import ChatRequest
from knotwork.errors import ModelError
from knotwork.records import ReadingStatus

pytestmark = pytest.mark.slow


DOCUMENT, CHUNKS = cut(
    "Firms",
    *(
        f"Ada Smith founded Acme {n} in London. Bob Jones led Acme {n}. Case {n}."
        for n in range(12)
    ),
)


def moody(request: ChatRequest) -> str:
    """Answer as a model that fails for a chunk at first, for one always, and cuts a line."""
    content = request.messages[0].content
    again = "could not be read" in request.messages[-1].content
    if "Case 3." in content or ("Case 7." in content and not again):
        return "I would rather not."
    said = RuleBrain()(request.messages)
    return said + "\nrelation | Ada" if "Case 5." in content else said


def run(path: Path, inner: ScriptedChatModel, *, concurrency: int = 1) -> list[ChunkOutcome]:
    model = CachedChatModel(inner, CallCache(path))
    extractor = ModelExtractor(model, concurrency=concurrency)
    return read(extractor, DOCUMENT, CHUNKS)


def test_every_outcome_is_there_and_counts_add_up(tmp_path: Path) -> None:
    inner = ScriptedChatModel(moody)
    outcomes = run(tmp_path / "calls", inner)
    found = Counter(outcome.status for outcome in outcomes)
    assert found == {ReadingStatus.OK: 10, ReadingStatus.PARTIAL: 1, ReadingStatus.QUARANTINED: 1}
    assert [outcome.repaired for outcome in outcomes].count(True) == 1
    assert len(inner.requests) == len(CHUNKS) + 2


def test_a_second_run_makes_no_call(tmp_path: Path) -> None:
    first = run(tmp_path / "calls", ScriptedChatModel(moody))
    second = run(tmp_path / "calls", ScriptedChatModel([]), concurrency=4)
    assert second == first
    assert [outcome.raw for outcome in second if outcome.raw] == ["I would rather not."]


@pytest.mark.parametrize("stop_at", range(1, 15))
def test_a_run_that_was_stopped_goes_on_without_repeating_a_call(tmp_path, stop_at) -> None:
    inner = ScriptedChatModel(moody)
    whole = run(tmp_path / "whole", inner)
    stopped = ScriptedChatModel(moody, errors={stop_at: ModelError("the run was stopped")})
    with pytest.raises(ModelError, match="stopped"):
        run(tmp_path / "calls", stopped)
    rest = ScriptedChatModel(moody)
    assert run(tmp_path / "calls", rest) == whole
    # The call that failed is the only one that was made twice.
    assert len(stopped.requests) + len(rest.requests) == len(inner.requests) + 1
