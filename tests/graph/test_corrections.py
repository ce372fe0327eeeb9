"""Corrections of the graph outlast its documents, and leave no trace once they are undone."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import knotwork
from knotwork._extensions.graphs import corrections as module
from knotwork._extensions.testing.store_contract import snapshot
from knotwork._stores.resolutions import read_groups
from knotwork.demo import open_sample
from knotwork.errors import ConfigError, StoreReadOnly, UnknownName

pytestmark = pytest.mark.slow

SETTINGS = knotwork.load_settings(overrides={"embedding.model": "hashing:4"}, environ={}).settings


def open_base(path, **overrides):
    return knotwork.open(path, settings=replace(SETTINGS, **overrides))


@pytest.fixture(scope="module")
def sample():
    with open_sample() as folder:
        yield folder


@pytest.fixture(scope="module")
def indexed(sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "sample.knot"
    with open_base(path) as base:
        base.index(sample)
        base.entities.find_aliases()
    return path


@pytest.fixture
def path(indexed, tmp_path):
    return shutil.copy(indexed, tmp_path / "copy.knot")


@pytest.fixture
def base(path):
    with open_base(path) as opened:
        yield opened


def state(base):
    """Return all of an index that a correction may change: the graph, its texts and vectors."""
    store, found = base.store, snapshot(base.store)
    ids = [node.id for node in store.graph.find(limit=100_000)]
    del found["meta"]
    return found | {
        "ledger": [entry.uri for entry in store.ledger.entries()],
        "decisions": store.capabilities.resolutions.decisions(),
        "groups": read_groups(store),
        "homonyms": store.capabilities.homonyms.read(),
        "lookup": store.graph.lookup([node.name.lower() for node in store.graph.find(limit=999)]),
        "entity vectors": store.vectors("entity").get(ids).keys(),
        "fields": store.capabilities.fields.fields(),
    }


def assert_same(found, expected, *, without=()):
    for part, value in expected.items():
        assert part in without or found[part] == value, part


SCORES = ("near", "texts")
"""Where stores may differ in the last digit."""


def thirty(base):
    """Return 30 corrections of all kinds, each about other entities."""
    store = base.store
    nodes = store.graph.find(label="Entity", limit=9_999)
    named = [n for n in nodes if n.type not in {"DATE", "NUMBER", "IDENTIFIER"}]
    named.sort(key=lambda node: (-node.properties["chunk_count"], node.id))
    groups, taken = read_groups(store), set()
    names = {node.id: node.name for node in nodes}

    def take():
        node = next(n for n in named if n.id not in taken)
        group = {key for key in groups if groups[key] == groups.get(node.id)}
        taken.update({node.id} | group)
        return node.id

    stated = [
        e for e in store.graph.edges(types=["RELATES"]) if {e.source, e.target} <= names.keys()
    ]
    pairs = list(groups.items())
    made = []
    for one, other in [p for p in pairs if p[0] != p[1]][:3]:
        made.append(("split", one, {"other": other}))
        taken.update({one, other} | {k for k in groups if groups[k] == other})
    while len(made) < 3:
        made.append(("split", take(), {"other": take()}))
    for edge in stated:
        if len(made) < 7 and not {edge.source, edge.target} & taken:
            made.append(
                ("remove_relation", edge.source, {"relation": edge.relation, "other": edge.target})
            )
            taken.update((edge.source, edge.target))
    made += [("rename", take(), {"name": f"Renamed {number} 号"}) for number in range(5)]
    made += [("retype", take(), {"type": "odd thing"}) for _ in range(4)]
    made += [("hide", take(), {}) for _ in range(3)]
    homes = {node.id: documents_of(base, node.id) for node in named if node.id not in taken}
    shared = next(key for key, uris in homes.items() if len(uris) > 1 and key not in groups)
    taken.add(shared)
    said = {"name": "Other, meaning", "documents": homes[shared][:1]}
    made.append(("divide", shared, said))
    made += [("pin", take(), {}) for _ in range(2)]
    made += [("merge", take(), {"other": take()}) for _ in range(4)]
    while len(made) < 30:
        made.append(("add_relation", take(), {"relation": "keeps", "other": take()}))
    return [(kind, entity, said) for kind, entity, said in made]


def documents_of(base, entity):
    """Return the uris of the documents that mention an entity."""
    edges = base.store.graph.neighbours([entity], direction="in", types=["MENTIONS"])
    chunks = base.store.documents.chunks({edge.source for edge in edges.get(entity, ())})
    owners = {chunk.document_id for chunk in chunks.values()}
    return sorted(found.uri for found in base.store.documents.documents(owners).values())


def apply(base, wanted):
    return [base.graph.correct(kind, entity, **said) for kind, entity, said in wanted]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_corrections_leave_no_trace_when_each_is_undone(base, every):
    before, made_of = state(base), thirty(base)
    of_each_kind = {kind: (kind, entity, said) for kind, entity, said in made_of}.values()
    assert len(of_each_kind) == 9
    for kind, entity, said in made_of if every else of_each_kind:
        made = base.graph.correct(kind, entity, **said)
        assert made.applied, made
        assert (state(base) == before) is (kind == "pin"), made
        undone = base.graph.undo(made.correction.id)
        assert (undone.correction, undone.applied) == (made.correction, False)
        assert_same(state(base), before)
    assert base.graph.corrections() == []
    assert base.store.capabilities.full_check() == []


def test_thirty_corrections_stay_over_deletion_and_another_index_run(base, sample):
    before = state(base)
    made = apply(base, thirty(base))
    base.entities.find_aliases()
    corrected = state(base)
    assert [found.correction for found in base.graph.corrections()] == [m.correction for m in made]
    assert base.store.capabilities.full_check() == []
    uris = [entry.uri for entry in base.documents() if not entry.uri.startswith("correction:")]
    base.delete(uris[::2])
    base.index(sample)
    base.entities.find_aliases()
    assert_same(state(base), corrected)
    base.delete(uris)
    reasons = {found.correction.kind: found.reason for found in base.graph.corrections()}
    assert reasons == {
        **dict.fromkeys(("rename", "retype", "hide", "pin", "merge", "split", "divide"), "gone"),
        "remove_relation": "not_stated",
        "add_relation": "",
    }
    base.index(sample)
    base.entities.find_aliases()
    assert_same(state(base), corrected)
    assert all(found.applied for found in base.graph.corrections())
    for found in made[::3] + made[1::3] + made[2::3]:
        base.graph.undo(found.correction.id)
    base.entities.find_aliases()
    assert_same(state(base), before)


def test_documents_that_are_read_in_another_way_follow_the_corrections(path, sample, tmp_path):
    other = replace(SETTINGS.index, chunk_tokens=60, overlap_tokens=0)
    with open_base(path) as base:
        apply(base, thirty(base))
    with open_base(path, index=other) as base, open_base(tmp_path / "new.knot", index=other) as new:
        for opened in (base, new):
            opened.index(sample)
            opened.entities.find_aliases()
        new.graph.import_corrections(
            [json.dumps(asdict(found.correction)) for found in base.graph.corrections()]
        )
        new.entities.find_aliases()
        assert_same(state(base), state(new))


def test_corrections_are_copied_to_a_server_and_back(base, new_index, tmp_path):
    before = state(base)
    made = apply(base, thirty(base))
    corrected, url = state(base), new_index()
    base.copy(url)
    with open_base(url) as served:
        assert_same(state(served), corrected, without=SCORES)
        assert served.graph.corrections() == base.graph.corrections()
        assert served.store.capabilities.self_check() == []
        served.copy(tmp_path / "back.knot")
        for found in made:
            served.graph.undo(found.correction.id)
        assert_same(state(served), before, without=SCORES)
    with open_base(tmp_path / "back.knot") as back:
        assert_same(state(back), corrected)
        for found in reversed(made):
            back.graph.undo(found.correction.id)
        assert_same(state(back), before)


TEXTS = {
    "ada.txt": "Ada Lovelace met Charles Babbage in London. Ada Lovelace lived in London.",
    "bab.txt": "Charles Babbage lived in London. Charles Babbage knew Mary Somerville.",
    "mary.txt": "Mary Somerville was born in Jedburgh. Ada Lovelace visited Mary Somerville.",
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "texts"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text, "utf-8")
    return made


@pytest.fixture
def small(folder, tmp_path):
    with open_base(tmp_path / "small.knot") as opened:
        opened.index(folder)
        opened.entities.find_aliases()
        yield opened


ADA, BABBAGE, MARY = "Ada Lovelace", "Charles Babbage", "Mary Somerville"
STEPS = (
    ("rename", ADA, {"name": "Countess"}),
    ("rename", ADA, {"name": "The Enchantress"}),
    ("retype", ADA, {"type": "POET"}),
    ("hide", BABBAGE, {}),
    ("hide", MARY, {}),
    ("pin", ADA, {}),
    ("merge", ADA, {"other": MARY}),
    ("split", ADA, {"other": MARY}),
    ("add_relation", ADA, {"relation": "admires", "other": MARY}),
    ("remove_relation", ADA, {"relation": "admires", "other": MARY}),
    ("divide", ADA, {"name": "Ada, ship", "documents": ["texts/ada.txt"]}),
    ("divide", ADA, {"name": "Ada, ship", "documents": ["texts/ada.txt", "texts/mary.txt"]}),
    ("divide", ADA, {"name": "Ada, language", "documents": ["texts/mary.txt"]}),
)


_files = count()


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, len(STEPS) - 1)), max_size=12))
@settings(
    max_examples=settings().max_examples // 3,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_corrections_and_undos_are_as_the_corrections_that_are_left(steps, small, tmp_path):
    paths = [tmp_path / f"{next(_files)}.knot" for _ in range(2)]
    for path in paths:
        small.copy(path, verify=False)
    with open_base(paths[0]) as base, open_base(paths[1]) as fresh:
        before = state(base)
        ids = dict(zip((ADA, BABBAGE, MARY), map(ids_of(base), (ADA, BABBAGE, MARY)), strict=True))
        for is_undo, number in steps:
            if is_undo:
                held = base.graph.corrections()
                if held:
                    base.graph.undo(held[number % len(held)].correction.id)
                continue
            kind, entity, said = STEPS[number]
            if "other" in said:
                said = {**said, "other": ids[said["other"]]}
            try:
                base.graph.correct(kind, ids[entity], **said)
            except ConfigError:  # about a hidden entity, or a relation that is not there
                continue
        lines = [json.dumps(asdict(found.correction)) for found in base.graph.corrections()]
        fresh.graph.import_corrections(lines)
        assert_same(state(base), state(fresh))
        for found in base.graph.corrections():
            base.graph.undo(found.correction.id)
        assert_same(state(base), before)


def ids_of(base):
    return lambda name: base.store.graph.lookup([name.lower()])[name.lower()].id


def test_merged_entities_answer_under_either_name(base):
    one, other = "Oriane Keld", "温青岚"
    made = base.graph.correct("merge", one, other=other, author="Ana")
    assert (made.correction.author, made.applied) == ("Ana", True)
    base.entities.find_aliases()
    (dossier,) = base.graph.describe([one])
    assert other in dossier.names
    for name in (one, other):
        nodes = {node.name for node in base.graph.explore(name).nodes}
        assert {one, other} <= nodes
        assert base.graph.shortest_paths(name, "Tarnby")
    assert base.graph.shortest_paths(one, other) == []
    assert "Kestrel" in str(base.search("What did 温青岚 design?").hits)
    base.graph.correct("split", one, other=other)
    base.entities.find_aliases()
    assert other not in base.graph.describe([one])[0].names


def test_a_renamed_entity_is_found_by_both_names(base):
    made = base.graph.correct("rename", "Oriane Keld", name="Dr. Keld-Tarrant")
    assert made.correction.was == "Oriane Keld"
    for name in ("Oriane Keld", "Dr. Keld-Tarrant", "Oriane"):
        assert base.graph.describe([name])[0].entity.name == "Dr. Keld-Tarrant"
    paths = base.graph.shortest_paths("Dr. Keld-Tarrant", "Tarnby")
    assert paths[0].text.startswith("Dr. Keld-Tarrant ")
    found = base.graph.cypher("MATCH (e:Entity {name: 'Dr. Keld-Tarrant'}) RETURN e.normal_form")
    assert [list(row) for row in found.rows] == [["oriane keld"]]
    answer = base.search("Where was Dr. Keld-Tarrant born?")
    assert "Tarnby" in answer.hits[0].chunk.text
    assert "Tarnby" in base.ask("Where was Dr. Keld-Tarrant born?", use_llm=False).text
    base.graph.correct("rename", "温青岚", name="温主任")
    assert "“温青岚”" in str(base.search("温主任出生在哪里？").notes)


def test_a_name_with_two_meanings_is_divided_by_documents(small, folder):
    before = state(small)
    said = {"name": "Ada, ship", "documents": ["texts/mary.txt"]}
    made = small.graph.correct("divide", ADA, **said)
    assert (made.applied, made.correction.documents) == (True, ("texts/mary.txt",))
    (ada,), (ship,) = (small.graph.describe([name]) for name in (ADA, "Ada, ship"))
    assert {p.document.uri for p in ship.passages} == {"texts/mary.txt"}
    assert "texts/mary.txt" not in {p.document.uri for p in ada.passages}
    assert MARY in {other.name for other in ship.others.values()}
    assert MARY not in {other.name for other in ada.others.values()}
    small.entities.find_aliases()
    assert read_groups(small.store) == {}
    divided = state(small)
    small.delete(["texts/mary.txt"])
    assert small.graph.corrections()[0].reason == "gone"
    small.index(folder)
    small.entities.find_aliases()
    assert_same(state(small), divided)
    more = [*said["documents"], "texts/ada.txt"]
    small.graph.correct("divide", ADA, name="Ada, ship", documents=more)
    assert documents_of(small, ship.entity.id) == sorted(more)
    assert [found.reason for found in small.graph.corrections()] == ["replaced", ""]
    for found in small.graph.corrections():
        small.graph.undo(found.correction.id)
    small.entities.find_aliases()
    assert_same(state(small), before)


def test_a_second_division_by_the_same_name_adds_documents(small, folder):
    (folder / "rex.txt").write_text("Ada Lovelace sings. Ada Lovelace hums.", "utf-8")
    small.index(folder)
    small.entities.find_aliases()
    before = state(small)
    ship = {"name": "Ada, ship"}
    small.graph.correct("divide", ADA, documents=["texts/mary.txt"], **ship)
    once = state(small)
    added = small.graph.correct("divide", ADA, documents=["texts/ada.txt"], **ship)
    assert added.correction.documents == ("texts/mary.txt", "texts/ada.txt")
    assert documents_of(small, added.correction.other_ids[0]) == ["texts/ada.txt", "texts/mary.txt"]
    assert small.graph.correct("divide", ADA, documents=["texts/ada.txt"], **ship) == added
    small.graph.undo(added.correction.id)
    small.entities.find_aliases()
    assert_same(state(small), once)
    with pytest.raises(ConfigError, match=r"means `Ada, ship` in `texts/mary\.txt` already"):
        small.graph.correct("divide", ADA, name="Ada, poem", documents=["texts/mary.txt"])
    for found in small.graph.corrections():
        small.graph.undo(found.correction.id)
    small.entities.find_aliases()
    assert_same(state(small), before)


def test_what_hides_a_divided_entity_is_applied(small):
    documents = ["texts/mary.txt"]
    small.graph.correct("divide", ADA, name="Ada, ship", documents=documents)
    relation = {"relation": "visited", "other": MARY}
    assert small.graph.correct("remove_relation", "Ada, ship", **relation).applied
    assert small.graph.correct("hide", "Ada, ship").applied
    reasons = {found.correction.kind: found.reason for found in small.graph.corrections()}
    assert reasons == {"divide": "hidden", "remove_relation": "", "hide": ""}
    small.delete(documents)
    assert {found.reason for found in small.graph.corrections()} == {"gone", "not_stated"}


def test_a_stated_relation_has_its_author_as_the_source(base):
    base.graph.correct(
        "add_relation", "Oriane Keld", relation="collects", other="Lake Ashmere", author="Ana"
    )
    (path, *_) = base.graph.shortest_paths("Oriane Keld", "Lake Ashmere")
    assert path.text == "Oriane Keld -collects→ Lake Ashmere"
    assert "collects" in base.store.graph.schema().relations
    (hit,) = base.search("What does Oriane Keld collect?", filters={"author": "Ana"}).hits
    assert hit.chunk.document_title == "Stated by Ana"
    assert hit.chunk.text == "Oriane Keld collects Lake Ashmere."
    found = base.graph.corrections()[0]
    base.delete([f"correction:{found.correction.id}"])
    assert base.graph.corrections()[0].reason == "deleted"
    base.graph.undo(found.correction.id)
    assert base.graph.corrections() == []


def test_a_hidden_entity_is_shown_again_by_its_name(base):
    before = state(base)
    base.graph.correct("hide", "Oriane Keld")
    with pytest.raises(UnknownName):
        base.graph.explore("Oriane Keld")
    with pytest.raises(ConfigError, match="`Oriane Keld` is hidden"):
        base.graph.correct("pin", "Oriane Keld")
    assert "Oriane Keld" not in [n.name for n in base.store.graph.find(label="Entity")]
    shown = base.graph.correct("show", "oriane keld")
    assert (shown.correction.kind, shown.reason) == ("hide", "undone")
    assert_same(state(base), before)
    with pytest.raises(UnknownName, match="hidden entity"):
        base.graph.correct("show", "Oriane Keld")


def test_the_same_request_twice_is_one_correction(small):
    for kind, entity, said in STEPS[:1] + STEPS[2:4] + STEPS[5:7] + STEPS[8:9]:
        first = small.graph.correct(kind, entity, **said, author="Ann")
        before = state(small)
        if kind == "hide":
            small.graph.correct("show", entity)
            continue
        assert small.graph.correct(kind, entity, **said, author="Ben") == first
        assert_same(state(small), before)
    assert [found.correction.author for found in small.graph.corrections()] == ["Ann"] * 5


@pytest.mark.parametrize(
    ("kind", "entity", "said", "message"),
    [
        ("renam", ADA, {}, "Unknown kind of correction `renam`.*Did you mean `rename`"),
        ("rename", "Ada Lovelase", {"name": "X1"}, "Unknown entity.*Ada Lovelace"),
        ("rename", ADA, {}, "needs `name`"),
        ("rename", ADA, {"name": BABBAGE}, "name of another entity.*Merge"),
        ("rename", ADA, {"name": ADA}, "has this name"),
        ("rename", ADA, {"name": "x" * 501}, "too long"),
        ("rename", ADA, {"name": "a\x00b"}, "cannot be shown"),
        ("rename", ADA, {"name": "A", "type": "B"}, "has no `type`"),
        ("retype", ADA, {"type": "unknown"}, "not a type"),
        ("merge", ADA, {"other": "ada lovelace"}, "names of one entity"),
        ("merge", ADA, {"other": "Nobody"}, "Unknown entity `Nobody`"),
        ("add_relation", ADA, {"relation": "knows"}, "needs `other`"),
        ("divide", ADA, {"name": "Ada, ship"}, "needs `documents`"),
        ("divide", ADA, {"name": "Ada Lovelace (ship)", "documents": ["texts/ada.txt"]}, "bracket"),
        ("divide", ADA, {"name": "Ada, ship", "documents": ["texts/bab.txt"]}, "mentions"),
        ("rename", ADA, {"name": "A", "documents": ["texts/ada.txt"]}, "has no `documents`"),
        ("add_relation", ADA, {"relation": "co-occurs with", "other": MARY}, "occur together"),
        ("remove_relation", ADA, {"relation": "hates", "other": MARY}, "Unknown relation `hates`"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_words(small, kind, entity, said, message):
    before = state(small)
    with pytest.raises(ConfigError) as refused:
        small.graph.correct(kind, entity, **said)
    assert re.search(message, f"{refused.value} {refused.value.fix}", re.DOTALL)
    assert small.graph.corrections() == []
    assert_same(state(small), before)


def test_an_unknown_correction_cannot_be_undone(small):
    made = small.graph.correct("pin", ADA).correction.id
    for named in (made[:5], f"{made[:-1]}?", ADA):
        with pytest.raises(UnknownName, match=made):
            small.graph.undo(named)
    with pytest.raises(UnknownName) as refused:
        small.graph.undo("zzz")
    assert made not in str(refused.value)
    assert "knotwork graph corrections" in refused.value.fix


def test_an_index_for_reading_takes_no_correction(small):
    made = small.graph.correct("pin", ADA)
    with knotwork.open(small.store.url, settings=SETTINGS, read_only=True) as reader:
        assert reader.graph.corrections() == [made]
        for change in (
            lambda: reader.graph.correct("hide", ADA),
            lambda: reader.graph.undo(made.correction.id),
        ):
            with pytest.raises(StoreReadOnly):
                change()


@pytest.mark.parametrize("line", ["{", "[]", '{"kind": "hide"}', "null", "1"])
def test_what_is_not_a_correction_is_not_imported(small, line):
    good = json.dumps(asdict(small.graph.correct("pin", ADA).correction))
    small.graph.undo(small.graph.corrections()[0].correction.id)
    with pytest.raises(ConfigError, match="Line 2 is not a correction"):
        small.graph.import_corrections([good, line])
    assert small.graph.corrections() == []


def test_corrections_of_what_is_not_there_apply_once_it_is(small, folder, tmp_path):
    apply(small, STEPS[:1] + STEPS[3:4] + STEPS[6:7] + STEPS[8:9])
    lines = [json.dumps(asdict(found.correction)) for found in small.graph.corrections()]
    with open_base(tmp_path / "new.knot") as other:
        imported = other.graph.import_corrections(lines)
        assert [found.reason for found in imported] == ["gone", "gone", "gone", ""]
        other.index(folder)
        other.entities.find_aliases()
        assert all(found.applied for found in other.graph.corrections())
        assert other.graph.describe(["Ada Lovelace"])[0].entity.name == "Countess"
        assert set(other.store.graph.lookup(["charles babbage", "countess"])) == {"countess"}


def test_a_merge_that_others_keep_apart_is_told(small):
    small.graph.correct("merge", ADA, other=BABBAGE)
    small.graph.correct("split", ADA, other=MARY)
    made = small.graph.correct("merge", BABBAGE, other=MARY)
    assert made.reason == "kept_apart" or small.graph.corrections()[0].reason == "kept_apart"


def test_an_error_in_the_middle_leaves_the_graph_as_it_was(small, monkeypatch):
    before = state(small)

    def fail(*_):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(module, "refresh_entities", fail)
    for kind, entity, said in STEPS[:1] + STEPS[3:4] + STEPS[6:7] + STEPS[8:9]:
        with pytest.raises(RuntimeError, match="in the middle"):
            small.graph.correct(kind, entity, **said)
    assert small.graph.corrections() == []
    assert_same(state(small), before)


KILLED = """
import os, signal, sys, knotwork
from knotwork._extensions.graphs import corrections
settings = knotwork.load_settings(overrides={"embedding.model": "hashing:4"}, environ={}).settings
with knotwork.open(sys.argv[1], settings=settings) as base:
    corrections.refresh_entities = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    base.graph.correct(*sys.argv[2:4], **dict(item.split("=") for item in sys.argv[4:]))
"""


@pytest.mark.parametrize("step", [STEPS[0], STEPS[3], STEPS[8]], ids=lambda step: step[0])
def test_a_kill_in_the_middle_leaves_the_graph_as_it_was(small, step):
    before, (kind, entity, said) = state(small), step
    given_ = [f"{key}={value}" for key, value in said.items()]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, small.store.url, kind, entity, *given_], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert_same(state(small), before)
    assert small.graph.correct(kind, entity, **said).applied


def test_two_writers_take_turns(small, request):
    _correct_side_by_side(small.store.url)


def _correct_side_by_side(url):
    names = [ADA, BABBAGE, MARY, "London", "Jedburgh"]
    failures = []

    def correct(number):
        try:
            with open_base(url) as base:
                for name in names[number::2]:
                    base.graph.correct("retype", name, type=f"T{number}")
                    base.graph.correct("pin", "London")
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=correct, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with open_base(url) as base:
        assert len(base.graph.corrections()) == len(names) + 1
        assert all(found.applied for found in base.graph.corrections())
        for found in base.graph.corrections():
            base.graph.undo(found.correction.id)
        assert base.graph.corrections() == []


def test_two_writers_of_a_server_take_turns(small, new_index):
    url = new_index()
    small.copy(url)
    _correct_side_by_side(url)


def test_a_document_that_is_written_beside_a_correction_follows_it(small, new_index):
    url = new_index()
    small.copy(url)
    form = ADA.lower()
    with open_base(url) as one, open_base(url) as other:
        chunks = one.store.documents.chunk_ids_of(one.store.documents.document_ids())
        chunk = next(ids[0] for ids in chunks.values())
        mention = next(
            m
            for found in one.store.graph.mentions(
                [c for ids in chunks.values() for c in ids]
            ).values()
            for m in found
            if m.normal_form == form
        )
        before = other.store.graph.lookup([form])[form]
        hide = threading.Thread(target=other.graph.correct, args=("hide", ADA))
        with one.store.transaction():
            one.store.graph.upsert(mentions=[replace(mention, chunk_id=chunk)])
            hide.start()
            hide.join(0.2)
            assert hide.is_alive()  # it waits for the document
        hide.join()
        assert one.store.graph.lookup([form]) == {}
        assert one.store.capabilities.self_check() == []
        other.graph.correct("show", ADA)
        after = other.store.graph.lookup([form])[form]
        assert after.chunk_count >= before.chunk_count
        assert one.store.capabilities.self_check() == []
