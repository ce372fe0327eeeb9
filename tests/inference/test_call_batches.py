"""The requests of open batches, in a file and on a server."""

from contextlib import closing

import pytest

from knotwork._extensions.served_models.batches import AwaitedRequests
from knotwork._inference.call_cache import CALLS, CallCache
from knotwork._inference.chat import ChatRequest
from knotwork._stores.base import companions_of
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow

KEYS = [bytes([number]) * 16 for number in range(3)]


@pytest.fixture(params=["file", "server"])
def database(request, tmp_path):
    if request.param == "file":
        place = CallCache(tmp_path / "k.calls")
        with closing(place):
            yield place
        return
    url = request.getfixturevalue("postgres_url")
    with (
        closing(open_store(url, create=True)) as store,
        closing(CallCache(companions_of(store).open(CALLS))) as place,
    ):
        yield place


def test_requests_are_kept_for_their_model_and_server_until_their_batch_ends(database):
    here = AwaitedRequests(database, server="http://a/v1", model="openai:small")
    other = AwaitedRequests(database, server="http://b/v1", model="openai:small")
    request = ChatRequest((), stage="extract", source="a.txt")
    here.add("batch-0", {KEYS[0]: request, KEYS[1]: ChatRequest((), source="b\udcff.txt")})
    other.add("batch-1", {KEYS[2]: request})
    assert here.by_batch() == {
        "batch-0": {KEYS[0]: request, KEYS[1]: ChatRequest((), source="b\\udcff.txt")}
    }
    here.add("batch-2", {KEYS[1]: request})  # sent again after its batch was lost
    assert here.by_batch().keys() == {"batch-0", "batch-2"}
    assert database.forget(["a.txt"]) == 0  # no reply was deleted
    assert here.by_batch().keys() == {"batch-2"}
    assert other.by_batch() == {}


def test_a_batch_that_ended_leaves_the_others(database):
    here = AwaitedRequests(database, server="http://a/v1", model="openai:small")
    here.add("batch-0", {KEYS[0]: ChatRequest(())})
    here.add("batch-1", {KEYS[1]: ChatRequest(())})
    here.remove("batch-0")
    assert here.by_batch() == {"batch-1": {KEYS[1]: ChatRequest(())}}
