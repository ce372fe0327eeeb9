"""Enrichment by a model after indexing, by tiers, and the cost of an update."""

import pytest
from tests.indexing.brained import brained, documents_of

from knotwork._indexing.report import IndexingInterrupted
from knotwork._run import Stage
from knotwork._stores.base import was_read_by_model
from knotwork.errors import BudgetExceeded
from knotwork.records import EXTRACTIVE_SOURCE

pytestmark = pytest.mark.slow


_DEFINITIONS = [
    "Sets how much memory a sort may use before it writes temporary files to disk.",
    "Limits hash tables of joins, which spill to files once they outgrow the amount given here.",
    "Applies to each operation of a plan, so that one query can need this amount many times over.",
    "Large values make reports over wide tables faster, yet starve other sessions of the machine.",
    "Administrators raise it for one session while they build an index or restore a dump at night.",
    "Its default of four megabytes suits small installations with a few dozen concurrent clients.",
    "Vacuum ignores this number and reads another parameter of a later release.",
    "Parallel workers receive their own share, which multiplies consumption by their quantity.",
    "Monitoring of temporary file creation shows whether the present choice is adequate or not.",
    "Units are kilobytes unless a suffix follows, and changes take effect without any restart.",
]
PEOPLE = ["Ada Smith", "Bob Jones", "Carol White", "Dan Brown", "Eve Black", "Frank Green"]
FIRMS = ["Acme Works", "Borealis Lines", "Cobalt Mills"]


def story(number: int) -> str:
    """A text of people around one firm, so that each firm is a community."""
    firm = FIRMS[number % len(FIRMS)]
    who = [PEOPLE[(number + i) % len(PEOPLE)] for i in (0, 3)]
    return (
        f"{who[0]} led {firm} in year {1900 + number}. {who[1]} of {firm} wrote to {who[0]} about "
        f"the harbour. The workers of {firm} met {who[1]} in Oslo and in Bergen every spring. "
        f"{firm} sold its ships to the Norwegian State in the year {1950 + number}."
    )


TEXTS = {f"{number:02}.txt": story(number) for number in range(36)}


def stages_of(model, *, since=0):
    return [request.stage for request in model.requests[since:]]


def test_the_full_tier_writes_reports_and_the_cost_of_each_stage(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    report = kb.index_documents(documents_of(TEXTS))
    assert {"extract", "report"} <= report.usage.keys()
    assert report.enrichment.reports.written
    assert report.usage["report"].calls == stages_of(model).count("report")
    assert set(report.seconds) >= {"reports", "descriptions"}
    written = {topic.report.source for topic in kb.communities.list()}
    assert model.name in written
    assert EXTRACTIVE_SOURCE not in {
        t.report.source for t in kb.communities.list() if t.community.size > 8
    }


def test_the_lean_tier_asks_about_doubtful_names_at_most(opened):
    model = brained()
    kb = opened(model)
    report = kb.index_documents(documents_of(TEXTS))
    assert set(report.usage) <= {"resolve"}
    kb_none = opened(brained(), path="none.knot", llm_tier="none")
    assert kb_none.index_documents(documents_of(TEXTS)).usage == {}


def test_definitions_of_the_documents_are_merged_by_no_model(opened, tmp_path):
    folder = tmp_path / "manual"
    folder.mkdir()
    for number, definition in enumerate(_DEFINITIONS):
        (folder / f"{number}.html").write_text(
            "<h1>Settings</h1><dl><dt><code>work_mem</code> (<code>integer</code>)</dt>"
            f"<dd>{definition}</dd></dl>",
            encoding="utf-8",
        )
    model = brained()
    kb = opened(model)
    kb.index(folder)
    described = kb.store.readings.described()
    assert any(len(found) > 1 for found in kb.store.readings.descriptions(described).values())
    assert not was_read_by_model(kb.store)
    assert set(stages_of(model)) <= {"resolve"}
    assert kb.store.readings.summaries(described) == {}


def test_chunks_read_by_a_model_are_known(opened):
    kb = opened(brained(), llm_tier="full")
    kb.index_documents(documents_of({"a.txt": story(1)}))
    assert was_read_by_model(kb.store)


def test_a_second_run_over_the_same_documents_asks_nothing(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    report = kb.index_documents(documents_of(TEXTS))
    assert len(model.requests) == calls
    assert report.usage == {} or all(used.calls == 0 for used in report.usage.values())


def test_a_new_document_costs_its_chunks_and_what_it_touches(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    first = kb.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    kb.index_documents(
        documents_of({"new.txt": "Zoe Gray planted roses in Kent for Yan Li of Deal."})
    )
    new = stages_of(model, since=calls)
    assert new.count("extract") == 1
    assert new.count("report") <= 1 < first.enrichment.reports.by_model
    assert new.count("summarize") == 0


def test_deleting_a_document_asks_nothing_until_the_next_run(opened):
    model = brained()
    kb = opened(model, llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    kb.delete("03.txt")
    assert len(model.requests) == calls
    kb.index_documents([])
    assert stages_of(model, since=calls).count("extract") == 0


def test_a_budget_that_ends_among_reports_leaves_them_to_the_next_run(opened):
    whole = brained()
    kb = opened(whole, path="whole.knot", llm_tier="full")
    used = kb.index_documents(documents_of(TEXTS)).usage
    extraction = used["extract"].input_tokens + used["extract"].output_tokens
    model = brained()
    again = opened(model, llm_tier="full", llm_concurrency=1)
    with pytest.raises(BudgetExceeded) as stop:
        again.index_documents(documents_of(TEXTS), budget=f"{extraction + 1_200} tokens")
    assert "report" in stop.value.message
    assert again.stats().documents == len(TEXTS)
    again.index_documents(documents_of(TEXTS))
    assert stages_of(model).count("extract") == used["extract"].calls
    assert {t.report.text for t in again.communities.list()} == {
        t.report.text for t in kb.communities.list()
    }


def test_ctrl_c_among_reports_keeps_the_documents_with_a_note(opened):
    def stop(request, reply):
        if request.stage == "report":
            raise KeyboardInterrupt
        return reply

    kb = opened(brained(stop), llm_tier="full", llm_concurrency=1)
    with pytest.raises(IndexingInterrupted) as interruption:
        kb.index_documents(documents_of(TEXTS))
    assert interruption.value.report.added == len(TEXTS)
    assert interruption.value.report.interrupted
    assert kb.stats().documents == len(TEXTS)


def test_events_name_the_steps_before_the_last_one(opened, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    kb = opened(brained(), llm_tier="full")
    events = list(kb.index.run(folder))
    steps = [event.note for event in events if event.stage is Stage.ENRICHING]
    assert steps[-1] == "reports"
    assert events[-1].stage is Stage.FINISHED
    assert [event for event in events if event.value] == events[-1:]
    counts = [(event.done, event.total) for event in events if event.note == "reports"]
    assert counts[0] == (0, 0)
    assert counts[-1][0] == counts[-1][1] == events[-1].value.enrichment.reports.by_model
    assert [done for done, _ in counts] == sorted(done for done, _ in counts)
    assert {total for _, total in counts[1:]} == {counts[-1][1]}


@pytest.mark.parametrize("budget", ["5k", "1k"])
def test_progress_is_reported_before_the_error_that_ends_a_run(opened, tmp_path, budget):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    kb = opened(brained(), llm_tier="full", llm_concurrency=1)
    events = []
    with pytest.raises(BudgetExceeded):
        events.extend(kb.index.run(folder, budget=budget))
    assert events[-1].stage is Stage.STOPPED
    assert events[-1].value.interrupted
    assert events[-1].value.total_documents == kb.stats().documents


def test_restored_documents_return_to_their_communities(opened):
    """The documents are then those of which the communities were found, but these lost a part."""
    kb = opened(brained(), llm_tier="full")
    kb.index_documents(documents_of(TEXTS))
    before = kb.communities.list()
    assert sum(topic.community.size for topic in before) > 0
    kb.delete(list(TEXTS))
    assert not kb.communities.is_current()
    kb.index_documents(documents_of(TEXTS))
    assert {t.report.text for t in kb.communities.list()} == {t.report.text for t in before}
    assert {t.report.source for t in kb.communities.list()} == {t.report.source for t in before}
