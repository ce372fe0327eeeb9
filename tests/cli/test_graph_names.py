"""`graph names`, `merge` and `split`: the aliases of entities, and that a decision stays."""

from __future__ import annotations

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow


TEXTS = {
    "who.txt": "The World Health Organization (WHO) sent help to Kenya. Later the WHO thanked "
    "Kenya. The World Health Organization has its seat in Geneva.",
    "curie.txt": "Marie Curie worked in Paris. In the evening Curie walked home through Paris.",
    "smith.txt": "John Smith lives in Leeds. His rival James Smith lives in Paris.",
    "series.txt": "Comet Engine 2 was shown in Paris. Comet Engine 3 was shown in Leeds.",
}
LONDON = "In London the World Health Organization met Marie Curie. The WHO paid for it."
FULL = "World Health Organization"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "texts"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    assert knotwork("index", made).code == 0
    return made


def names_of_things(*arguments):
    return {
        frozenset(t["names"])
        for t in knotwork("graph", "names", *arguments, "--json").json["things"]
    }


def test_without_a_comparison_it_says_how_to_get_one(folder):
    outcome = knotwork("graph", "names")
    assert outcome.code == 0
    assert outcome.out == ""
    assert "graph names --find" in outcome.err
    payload = knotwork("graph", "names", "--json").json
    assert payload == {
        "things": [],
        "apart": [],
        "total": {"things": 0, "apart": 0},
        "compared": False,
        "waiting": 0,
    }


def test_names_found_by_rules_are_reported_with_reasons(folder):
    outcome = knotwork("graph", "names", "--find")
    assert outcome.code == 0
    assert "by rules" in outcome.err
    lines = outcome.out.splitlines()
    assert f"{FULL}, WHO" in lines or f"WHO, {FULL}" in lines
    line = next(line for line in lines if "  =  " in line and FULL in line)
    assert "by rules" in line
    thing = next(
        t for t in knotwork("graph", "names", "--json").json["things"] if "WHO" in t["names"]
    )
    assert len(thing["entity_ids"]) == len(thing["names"]) == 2
    (decision,) = thing["decisions"]
    assert decision["source"] == "rules"
    assert decision["verdict"] == "same"
    assert decision["reason"]
    assert 0 < decision["score"] <= 1
    assert set(decision["ids"]) == set(thing["entity_ids"])
    assert knotwork("graph", "names", "--apart").out == "No pair is kept apart.\n"


def test_one_name_shows_its_thing_alone_and_an_unknown_one_the_nearest(folder):
    knotwork("graph", "names", "--find")
    assert names_of_things("WHO") == names_of_things(FULL) == {frozenset({"WHO", FULL})}
    assert knotwork("graph", "names", "Kenya").out == "Kenya has no alias.\n"
    outcome = knotwork("graph", "names", "Keny")
    assert outcome.code != 0
    assert "`Kenya`" in outcome.err
    assert knotwork("graph", "merge", "Keny", "WHO").code == outcome.code


def test_an_undo_outlasts_the_next_runs(folder):
    knotwork("graph", "names", "--find")
    outcome = knotwork("graph", "split", "WHO", FULL)
    assert outcome.code == 0
    assert "are kept apart" in outcome.out
    assert names_of_things("WHO") == set()
    (folder / "london.txt").write_text(LONDON, encoding="utf-8")
    assert knotwork("index", folder).code == 0
    assert "changed since they were compared" in knotwork("graph", "names").err
    knotwork("graph", "names", "--find")
    assert knotwork("graph", "names", "--json").json["waiting"] == 0
    assert names_of_things("WHO") == set()
    (folder / "who.txt").unlink()
    knotwork("index", folder)
    knotwork("graph", "names", "--find")
    (folder / "who.txt").write_text(TEXTS["who.txt"], encoding="utf-8")
    knotwork("index", folder)
    knotwork("graph", "names", "--find")
    assert names_of_things("WHO") == set()
    words = knotwork("graph", "names", "WHO", "--apart").out
    assert all(word in words for word in ("≠", "by hand", "kept apart", "rules: "))
    assert "are merged" in knotwork("graph", "merge", FULL, "WHO").out
    knotwork("graph", "names", "--find")
    assert names_of_things("WHO") == {frozenset({"WHO", FULL})}


def test_merges_by_a_person_are_kept(folder):
    payload = knotwork("graph", "merge", "Kenya", "Geneva", "--json").json
    assert payload["source"] == "person"
    assert [set(thing["names"]) for thing in payload["things"]] == [{"Kenya", "Geneva"}]
    (folder / "london.txt").write_text(LONDON, encoding="utf-8")
    knotwork("index", folder)
    knotwork("graph", "names", "--find")
    assert frozenset({"Kenya", "Geneva"}) in names_of_things()


def test_one_of_two_contradicting_merges_counts_and_the_obstacle_is_reported(folder):
    pairs = {}
    for end in ("Geneva", "Kenya"):
        payload = knotwork("graph", "merge", "John Smith", end, "--json").json
        pairs[end] = tuple(payload["ids"])
    parted = knotwork("graph", "split", "Geneva", "Kenya", "--json").json
    winner, loser = sorted(pairs, key=lambda end: pairs[end])
    assert [{lost["first"], lost["second"]} for lost in parted["lost"]] == [{"John Smith", loser}]
    assert [set(thing["names"]) for thing in parted["things"]] == [{"John Smith", winner}]
    outcome = knotwork("graph", "merge", "John Smith", loser)
    assert outcome.code == 0
    assert "are not merged" in outcome.out
    assert any({"Geneva", "≠", "Kenya"} <= set(line.split()) for line in outcome.out.splitlines())
    payload = knotwork("graph", "merge", "John Smith", loser, "--json").json
    assert payload["refused"] is True
    assert [{d["first"], d["second"]} for d in payload["barred_by"]] == [{"Geneva", "Kenya"}]
    assert "refused" in knotwork("graph", "names", "--apart").out
    shown = knotwork("graph", "split", "John Smith", winner).out
    assert (
        f"One entity: {loser}, John Smith" in shown or f"One entity: John Smith, {loser}" in shown
    )
    shown = knotwork("graph", "merge", "John Smith", winner).out
    assert "No longer in effect:" in shown
    assert "refused" in shown
    knotwork("graph", "merge", "Geneva", "Kenya")
    assert names_of_things() == {frozenset({"John Smith", "Geneva", "Kenya"})}


def test_one_entity_cannot_be_joined_with_itself(folder):
    outcome = knotwork("graph", "merge", "WHO", "who")
    assert outcome.code != 0
    assert "one entity" in outcome.err
    assert knotwork("graph", "split", "Kenya", "Kenya", "--json").json["error"]["code"]


def test_homonyms_are_reported_with_the_documents_of_each_meaning(folder):
    for number, (first, job) in enumerate((("Tom", "sailor"), ("Anna", "doctor"))):
        (folder / f"wilson{number}.txt").write_text(
            f"{first} Wilson was a {job}. In the evening Wilson went home as any {job} does.",
            encoding="utf-8",
        )
    knotwork("index", folder)
    assert "No names were compared" in knotwork("graph", "names", "--homonyms").err
    (found,) = knotwork("graph", "names", "--homonyms", "--find", "--json").json["homonyms"]
    assert found["name"] == "Wilson"
    assert sorted(d for m in found["meanings"] for d in m["documents"]) == [
        "texts/wilson0.txt",
        "texts/wilson1.txt",
    ]
    shown = knotwork("graph", "names", "--homonyms").out
    assert "Wilson: short for several names" in shown
    assert "2. in texts/wilson" in shown
    assert knotwork("graph", "names", "Kenya", "--homonyms").out.startswith("No name")
    assert knotwork("graph", "names", "--homonyms", "--apart").code != 0


def test_an_invalid_request_creates_no_index(tmp_path, monkeypatch):
    missing = tmp_path / "missing.knot"
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(missing))
    for words in (("names", "--find"), ("merge", "a", "b"), ("split", "a", "b")):
        assert knotwork("graph", *words).code != 0
    assert not missing.exists()
