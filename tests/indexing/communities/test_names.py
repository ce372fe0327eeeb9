"""Names of one thing in communities: held together, noticed when decided upon, and let go."""

import numpy as np
import pytest
from tests.indexing.communities.worlds import TOPICS, all_documents, make_index, network_of

from knotwork._extensions.model_indexing.written_reports import ReportWriter
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._graph.hierarchy import DivisionOptions
from knotwork._indexing.communities.detection import (
    NAME_WEIGHT,
    detect_communities,
    read_network,
    refresh_communities,
    stored_communities,
)
from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current, mark_current
from knotwork._text.names import normal_form
from knotwork.records import Document, entity_id

pytestmark = pytest.mark.slow


EXTRA = "Zed Rowan waved to Mara Quill. Zed Rowan thanked Mara Quill at the harbour."
AWAY = "The Harbour Ghost laughed at Wren Bakery. The Harbour Ghost thanked Chef Odette twice."


def idof(name):
    return entity_id(normal_form(name))


def lowest_of(base, name):
    return base.store.communities.of_entities([idof(name)])[idof(name)][-1]


def share_community(base, *names):
    return len({lowest_of(base, name) for name in names}) == 1


def all_of(base):
    return stored_communities(base.store.communities)


@pytest.fixture(params=["memory:", "index.knot"])
def base(request, tmp_path):
    path = request.param if request.param == "memory:" else tmp_path / request.param
    with make_index([*all_documents(), Document("extra.txt", EXTRA)], path) as made:
        yield made


def test_names_are_linked_in_what_divides_and_not_in_what_ranks():
    mentions = [("a", "c0"), ("b", "c0"), ("b", "c1"), ("d", "c1")]
    alone = network_of(mentions, [])
    network = network_of(mentions, [], {"a": "d", "d": "d", "gone": "d"})
    assert np.array_equal(network.plain.toarray(), alone.plain.toarray())
    more = (network.adjacency - alone.adjacency).toarray()
    assert more[0, 2] == more[2, 0] == NAME_WEIGHT
    assert np.count_nonzero(more) == 2


def test_a_join_is_noticed_and_brings_names_together_and_an_undo_lets_them_go(base):
    base.communities.update()
    assert base.communities.is_current()
    assert not share_community(base, "Zed Rowan", "Juno Dome")
    base.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    assert not base.communities.is_current()
    base.communities.update()
    assert base.communities.is_current()
    assert share_community(base, "Zed Rowan", "Juno Dome")
    joined = all_of(base)
    assert refresh_communities(base.store).changed == 0
    assert all_of(base) == joined
    base.graph.correct("split", "Zed Rowan", other="Juno Dome")
    assert not base.communities.is_current()
    base.communities.update()
    assert base.communities.is_current()
    assert not share_community(base, "Zed Rowan", "Juno Dome")
    base.communities.update(rebuild=True)
    never = make_index([*all_documents(), Document("extra.txt", EXTRA)])
    never.communities.update()
    assert all_of(base) == all_of(never)


def test_entities_untouched_by_a_merge_keep_their_community(base):
    base.communities.update()
    before = {community.id: community for community in all_of(base)}
    base.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    base.communities.update()
    after = {community.id: community for community in all_of(base)}
    kitchen = lowest_of(base, "Wren Bakery")
    assert after[kitchen] == before[kitchen]
    assert after.keys() == before.keys()


def test_a_decision_that_joins_nothing_new_leaves_communities_as_they_are(base):
    base.graph.correct("merge", "Zed Rowan", other="Mara Quill")
    base.communities.update()
    base.graph.correct("split", "Chef Odette", other="Nadia Sol")
    assert base.communities.is_current()
    base.graph.correct("merge", "Mara Quill", other="Zed Rowan")
    assert base.communities.is_current()


def test_from_scratch_they_depend_on_the_graph_and_on_which_names_are_one(base):
    base.communities.update()
    base.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    base.graph.correct("split", "Zed Rowan", other="Juno Dome")
    base.communities.update()
    base.graph.correct("merge", "Juno Dome", other="Zed Rowan")
    base.communities.update()
    refresh_communities(base.store, rebuild=True)
    other = make_index([Document("extra.txt", EXTRA), *all_documents()[::-1]])
    other.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    refresh_communities(other.store)
    assert all_of(base) == all_of(other)
    found = detect_communities(read_network(other.store), DivisionOptions())
    assert {c.id: c for c in found} == {c.id: c for c in all_of(other)}


def test_deleting_a_document_splits_groups_it_joined(base):
    base.index_documents([Document("away.txt", AWAY)])
    base.graph.correct("merge", "The Harbour Ghost", other="Juno Dome")
    base.communities.update()
    assert share_community(base, "Harbour Ghost", "Juno Dome")
    base.delete("away.txt")
    base.communities.update()
    left = {entity for community in all_of(base) for entity in community.entity_ids}
    assert idof("Harbour Ghost") not in left
    assert base.store.graph.entities(left).keys() == left
    assert idof("Juno Dome") in left


def test_reports_by_a_model_are_asked_about_again_after_a_join(base):
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    bring_up_to_date(base.store, writer=ReportWriter(model, concurrency=1))
    assert is_current(base.store, written=True)
    base.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    assert not is_current(base.store, written=True)


def test_communities_from_elsewhere_stay_when_names_are_joined(base):
    base.communities.update()
    mark_current(base.store)
    base.graph.correct("merge", "Zed Rowan", other="Juno Dome")
    assert base.communities.is_current()
    base.index_documents([Document("away.txt", AWAY)])
    assert not base.communities.is_current()
    base.communities.update()
    assert base.communities.is_current()
    assert all(share_community(base, *names) for names in TOPICS.values())
