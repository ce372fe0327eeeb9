"""Which entities become one, by rules, by a judge and by hand; and that this outlives updates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.resolution.worlds import (
    TEXTS,
    add,
    document,
    groups_by_name,
    idof,
    judge_by,
    make_index,
    resolved,
    shown_pairs,
)

from knotwork._extensions.model_indexing.judge import Judge
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.resolution.resolver import decide, resolve_entities
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelUnavailable
from knotwork.records import Verdict

pytestmark = pytest.mark.slow


SPELLINGS = {"World Health Organization", "World Health Organisation"}


def same_spelling(one, other):
    return {one, other} <= {"WHO", *SPELLINGS}


def names_with(store, name):
    groups = store.resolutions.groups()
    canonical = groups.get(idof(name), idof(name))
    members = {idof(name), *(entity for entity, own in groups.items() if own == canonical)}
    return {entity.name for entity in store.graph.entities(members).values()}


def test_rules_join_what_names_and_texts_make_sure():
    base, changes = resolved()
    joined = [
        {"World Health Organization", "WHO"},
        {"Marie Curie", "Curie"},
        {"Graph Databases", "Graph Database"},
        {"President Anna Keller", "Anna Keller"},
        {"中国联合网络通信股份有限公司", "中国联通"},
        {"北京市", "北京"},
    ]
    groups = groups_by_name(base.store)
    for names in joined:
        assert any(names <= group for group in groups), names
    assert changes.groups == len(groups) == len(set(base.store.resolutions.groups().values()))
    assert all(decision.reason for decision in base.store.resolutions.decisions())


def test_rules_hold_apart_what_differs_in_number_or_given_name():
    base, _ = resolved()
    groups = base.store.resolutions.groups()
    for one, other in (("Comet Engine 2", "Comet Engine 3"), ("John Smith", "James Smith")):
        assert idof(one) in base.store.graph.entities([idof(one)])
        assert groups.get(idof(one), 1) != groups.get(idof(other), 2)


def test_without_a_judge_the_margin_stays_apart():
    base, changes = resolved()
    assert changes.margin == changes.left > 0
    assert changes.judged == changes.calls == 0
    assert "World Health Organisation" not in names_with(base.store, "WHO")


def test_a_judge_is_asked_about_the_margin_alone_in_one_call():
    judge, model = judge_by(same_spelling)
    base, changes = resolved(judge=judge)
    assert changes.calls == len(model.requests) == 1
    assert changes.judged == changes.margin == len(shown_pairs(model.requests[0]))
    assert changes.judged_same == 2
    assert names_with(base.store, "WHO") >= {"WHO", *SPELLINGS}
    request = model.requests[0]
    assert request.stage == "resolve"
    assert request.messages[0].content.startswith("task: judge-pairs\n")


def test_a_judged_pair_is_never_asked_again():
    judge, model = judge_by(same_spelling)
    base, _ = resolved(judge=judge)
    before = base.store.resolutions.decisions()
    everything = [*base.store.resolutions.groups(), idof("Leeds"), idof("Kenya")]
    changes = resolve_entities(base.store, judge=judge, changed=everything)
    assert len(model.requests) == 1
    assert changes.kept > 0 == changes.judged
    assert base.store.resolutions.decisions() == before
    assert resolve_entities(base.store, judge=judge).pairs == 0


def test_a_judge_that_comes_later_sees_the_whole_margin():
    base, first = resolved()
    judge, _ = judge_by(same_spelling)
    assert resolve_entities(base.store, judge=judge).judged == first.margin


def test_items_a_reply_leaves_out_are_asked_once_more_and_then_stay_separate():
    asked = []

    def reply(request):
        asked.append([n for n, _, _ in shown_pairs(request)])
        return "1 | same"

    _, changes = resolved(judge=Judge(ScriptedChatModel(reply)))
    assert len(asked) == changes.calls == 2
    assert len(asked[1]) == len(asked[0]) - 1
    assert changes.undecided == len(asked[0]) - 2
    assert changes.judged_same == 2


def test_garbage_decides_nothing_and_stops_nothing():
    base, changes = resolved(judge=Judge(ScriptedChatModel("I am not sure about any of these.")))
    plain, _ = resolved()
    assert changes.undecided == changes.margin
    assert groups_by_name(base.store) == groups_by_name(plain.store)


def test_a_ceiling_leaves_the_pairs_that_are_worth_least():
    every, model = judge_by(same_spelling)
    _, all_of_them = resolved(judge=every)
    cost = sum(count_tokens(m.content) for m in model.requests[0].messages)
    judge, few = judge_by(same_spelling, ceiling_tokens=cost)
    _, changes = resolved(judge=judge)
    assert 0 < changes.judged < all_of_them.judged
    assert changes.left == all_of_them.judged - changes.judged
    most = [pair[1:] for pair in shown_pairs(model.requests[0])][: changes.judged]
    assert [pair[1:] for pair in shown_pairs(few.requests[0])] == most
    nothing, unasked = judge_by(same_spelling, ceiling_tokens=0)
    assert resolved(judge=nothing)[1].judged == len(unasked.requests) == 0


def test_a_failing_model_loses_nothing_and_the_next_run_goes_on():
    base = make_index()
    failing = ScriptedChatModel(
        lambda request: "1 | same", errors={2: ModelUnavailable("The server is gone.")}
    )
    with pytest.raises(ModelUnavailable):
        resolve_entities(base.store, judge=Judge(failing, pairs_a_call=1, concurrency=1))
    kept = [d for d in base.store.resolutions.decisions() if d.source == failing.name]
    assert len(kept) == 1
    judge, model = judge_by(same_spelling)
    changes = resolve_entities(base.store, judge=judge)
    assert changes.kept == 1
    assert len(shown_pairs(model.requests[0])) == changes.margin - 1


def test_a_chain_never_joins_what_rules_hold_apart():
    texts = {"a.txt": "吉林省的冬天很冷。吉林市在吉林省。吉林的雪很大。张伟教授住在吉林市。"}
    judge, _ = judge_by(lambda one, other: True)
    base, changes = resolved(texts, judge, texts)
    groups = base.store.resolutions.groups()
    assert idof("吉林省") in groups or idof("吉林市") in groups
    assert groups.get(idof("吉林省"), 1) != groups.get(idof("吉林市"), 2)
    assert changes.refused == 1


def test_an_undone_pair_stays_apart_for_good():
    base, _ = resolved()
    store = base.store
    assert names_with(store, "WHO") == {"World Health Organization", "WHO"}
    apart = decide(store, idof("WHO"), idof("World Health Organization"), Verdict.DIFFERENT)
    assert apart.reason.startswith("kept apart by hand; rules: ")
    assert names_with(store, "WHO") == {"WHO"}
    base.index_documents([document("series.txt")])
    resolve_entities(store, changed=[idof("WHO"), idof("World Health Organization")])
    assert names_with(store, "WHO") == {"WHO"}
    base.delete("who.txt")
    resolve_entities(store)
    add(base, "who.txt")
    resolve_entities(store)
    assert names_with(store, "WHO") == {"WHO"}
    decide(store, idof("WHO"), idof("World Health Organization"), Verdict.SAME)
    resolve_entities(store, changed=[idof("WHO")])
    assert names_with(store, "WHO") == {"World Health Organization", "WHO"}


def test_to_undo_a_pair_that_others_join_parts_the_group():
    judge, _ = judge_by(same_spelling)
    base, _ = resolved(judge=judge)
    pair = idof("WHO"), idof("World Health Organisation")
    decide(base.store, *pair, Verdict.DIFFERENT)
    assert names_with(base.store, "WHO") == {"World Health Organization", "WHO"}
    assert names_with(base.store, "World Health Organisation") == {"World Health Organisation"}
    resolve_entities(base.store, judge=judge, changed=[idof("WHO")])
    assert names_with(base.store, "WHO") == {"World Health Organization", "WHO"}


def snapshot(store):
    return store.resolutions.decisions(), store.resolutions.groups()


@given(st.data())
def test_in_whatever_order_documents_came_and_went_the_decisions_match_a_fresh_index(data):
    uris = data.draw(st.permutations(sorted(TEXTS)))
    count = data.draw(st.integers(1, len(uris)))
    gone = data.draw(st.sets(st.sampled_from(uris[:count])))
    judged = data.draw(st.booleans())

    def judge():
        return judge_by(lambda one, other: one[0] == other[0])[0] if judged else None

    base = make_index(uris[:1])
    resolve_entities(base.store, judge=judge())
    for uri in uris[1:count]:
        add(base, uri)
        resolve_entities(base.store, judge=judge())
    for uri in sorted(gone):
        base.delete(uri)
        resolve_entities(base.store, judge=judge())
    left = [uri for uri in sorted(uris[:count]) if uri not in gone]
    fresh = make_index(left)
    resolve_entities(fresh.store, judge=judge())
    assert snapshot(base.store) == snapshot(fresh.store)


def test_a_run_depends_on_the_index_alone(tmp_path):
    first, _ = resolved()
    second = make_index(list(TEXTS)[::-1], str(tmp_path / "index.knot"))
    resolve_entities(second.store)
    assert snapshot(first.store) == snapshot(second.store)
    second.close()
