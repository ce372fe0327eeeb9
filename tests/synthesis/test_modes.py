"""Every mode answers in both languages, cites documents, and stays below its ceiling."""

import pytest
from tests.synthesis.asked import (
    DETAIL,
    DETAIL_ZH,
    FOCUSED,
    QUESTIONS,
    THEMES,
    THEMES_ZH,
    UNKNOWN,
    cost_of,
    long_winded,
    task_of,
    with_replies,
)

from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._run import Stage
from knotwork._stores.urls import open_store
from knotwork._synthesis.answer_writer import NOT_ASKED, SOURCES_SILENT
from knotwork._synthesis.ask_request import (
    DRIFT_TOKENS,
    FIRST_GLOBAL_TOKENS,
    FIRST_REPORTS_TOKENS,
    FURTHER_REPORTS_TOKENS,
    GLOBAL_TOKENS,
    LOCAL_TOKENS,
    MAP_REDUCE_TOKENS,
    AskMode,
    AskRequest,
)
from knotwork._synthesis.engine import AnswerEngine
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.mode_answers import NO_REPORTS_NOTE
from knotwork._text.names import normal_form
from knotwork.errors import BudgetExceeded, ConfigError, ModelUnavailable, UnknownName, Unparsable
from knotwork.records import EXTRACTIVE_SOURCE, ChunkReading, Description, ReadingStatus, entity_id

pytestmark = pytest.mark.slow


RIVERS = tuple(
    f"What do all the documents say of mills on the {name}?" for name in ("Alder", "Birch")
)
CEILINGS = {
    "basic": LOCAL_TOKENS,
    "local": LOCAL_TOKENS,
    "hybrid": LOCAL_TOKENS,
    "map-reduce": MAP_REDUCE_TOKENS,
    "drift": DRIFT_TOKENS,
}
WHOLE_MODES = ("global", "map-reduce", "hybrid", "drift")


def stages_of(answer):
    return {stage.stage for stage in answer.usage.stages}


def reports_of(index):
    store = index.open(None).store
    ids = [i for level in store.communities.levels() for i in level]
    return store.communities.reports(ids).values()


@pytest.mark.parametrize("mode", CEILINGS)
def test_no_question_costs_more_than_its_mode_states(sample, mode):
    costs = [cost_of(sample.ask(q, mode, long_winded)[0]) for q in QUESTIONS]
    assert max(costs) <= CEILINGS[mode]
    assert max(costs) > 0


def test_the_ceiling_holds_for_a_long_question(sample):
    question = f"Who approves trips abroad? {'It concerns the travel office. ' * 250}"
    answer, _ = sample.ask(question, "hybrid", long_winded)
    assert 2_000 < cost_of(answer) <= LOCAL_TOKENS


def test_the_first_global_question_pays_for_reports_and_the_next_less(large):
    """Reports are written by the first questions, and kept: in the end none needs any more."""
    first, _ = large.ask(THEMES, "global", long_winded)
    later = [large.ask(q, "global", long_winded)[0] for q in (*RIVERS, THEMES_ZH)]
    later += [large.ask(THEMES, "global", long_winded)[0] for _ in range(8)]
    assert "report" in stages_of(first)
    assert "report" not in stages_of(later[-1])
    assert cost_of(first) <= FIRST_GLOBAL_TOKENS
    assert max(map(cost_of, later)) <= GLOBAL_TOKENS
    assert all(answer.answered for answer in (first, *later))


def test_reports_are_written_for_the_communities_of_the_question_alone(large):
    answer, _ = large.ask(RIVERS[0], "global")
    written = [r for r in reports_of(large) if r.source != EXTRACTIVE_SOURCE]
    asked = [r for r in large.requests if task_of(r) == "report-community"]
    assert 0 < len(written) <= 3
    assert sum(r.messages[1].content.count("\n# ") for r in asked) <= 3
    assert any("Alder" in report.text for report in written)
    assert answer.answered


def test_a_larger_context_raises_the_ceiling_with_it(sample):
    small, _ = sample.ask(DETAIL, "local", settings={"answer_context_tokens": 300})
    large, _ = sample.ask(DETAIL, "local", settings={"answer_context_tokens": 3_000})
    assert cost_of(small) < cost_of(large) <= LOCAL_TOKENS


@pytest.mark.parametrize("mode", ["basic", "local", "hybrid", "drift"])
@pytest.mark.parametrize(("question", "found"), [(DETAIL, "Travel Office"), (DETAIL_ZH, "主任")])
def test_each_mode_answers_a_question_of_detail_in_its_language(sample, mode, question, found):
    answer, _ = sample.ask(question, mode)
    assert answer.mode == mode
    assert answer.answered
    assert found in answer.text
    assert answer.citations
    assert answer.model


@pytest.mark.parametrize("mode", WHOLE_MODES)
@pytest.mark.parametrize("question", [THEMES, THEMES_ZH])
def test_modes_for_the_whole_answer_what_no_passage_does(sample, mode, question):
    answer, _ = sample.ask(question, mode)
    assert answer.answered
    assert len({c.quote for c in answer.citations}) >= 2


@pytest.mark.parametrize("mode", [m for m in CEILINGS if m != "basic"])
def test_a_stage_reports_what_it_cost(sample, mode):
    answer, _ = sample.ask(FOCUSED, mode)
    stages = answer.usage.stages
    assert sum(s.input_tokens + s.output_tokens for s in stages) == cost_of(answer)
    assert sum(s.model_calls for s in stages) == answer.usage.model_calls


@pytest.mark.parametrize("mode", [*CEILINGS, "global"])
def test_asking_twice_costs_nothing_and_answers_the_same(sample, mode):
    base = sample.open(with_replies())
    first = base.ask(FOCUSED, mode=mode)
    # The first may have written reports; what it read then is what the second reads.
    again = base.ask(FOCUSED, mode=mode)
    third = base.ask(FOCUSED, mode=mode)
    assert (third.text, third.citations) == (again.text, again.citations)
    assert cost_of(third) == 0
    assert first.answered == again.answered


@pytest.mark.parametrize("mode", WHOLE_MODES)
def test_missing_information_is_reported_as_missing(sample, mode):
    answer, _ = sample.ask(UNKNOWN, mode, with_replies(ask_further="none"))
    assert not answer.answered
    assert answer.text == no_answer("en")


def test_a_model_that_finds_no_answer_is_believed(sample):
    script = with_replies(map_reports="none", answer=no_answer("en"))
    for mode in ("map-reduce", "global", "drift"):
        answer, _ = sample.ask(FOCUSED, mode, script)
        assert (answer.answered, answer.reason) == (False, SOURCES_SILENT)


def test_map_and_reduce_report_how_far_they_are(sample):
    _, events = sample.ask(THEMES, "map-reduce")
    steps = [e for e in events if e.stage is Stage.STEP]
    maps = [(e.done, e.total) for e in steps if e.note == "map"]
    assert maps == [(done, maps[0][1]) for done in range(maps[0][1] + 1)]
    assert [e.note for e in steps][-1] == "reduce"
    assert any(e.note == "rate level 0" for e in steps)


def test_only_what_lies_in_a_relevant_community_is_read(sample):
    def rate(request):
        return "\n".join(
            f"{n} | {5 if n == '1' else 0}"
            for n in (line.split(" | ")[0] for line in request.messages[1].content.splitlines())
            if n.isdigit()
        )

    sample.ask(THEMES, "map-reduce", with_replies(rate_reports=rate))
    mapped = [r for r in sample.requests if task_of(r) == "map-reports"]
    assert len(mapped) == 1
    assert mapped[0].messages[1].content.count("\n# ") == 1


# --- degrading to what is there ------------------------------------------------------------------


@pytest.fixture
def bare(sample):
    """The sample without communities, and not to be written to."""
    store = open_store(str(sample.path))
    with store.transaction():
        store.communities.replace([])
        store.set_meta({"communities_of": "nothing"})
    store.close()
    return sample


@pytest.mark.parametrize("mode", [m.value for m in AskMode])
def test_without_communities_passages_answer(bare, mode):
    base = bare.open(with_replies(), read_only=True)
    answer = base.ask(DETAIL, mode=mode)
    assert answer.answered
    assert "Travel Office" in answer.text


def test_a_global_question_to_an_index_without_reports_is_reported(bare):
    bare.path.chmod(0o444)
    answer = bare.open(with_replies(), read_only=True).ask(DETAIL, mode="global")
    assert answer.answered
    assert NO_REPORTS_NOTE in answer.notes
    assert any("out of date with the documents" in note for note in answer.notes)


def test_communities_are_made_when_a_question_first_needs_them(bare):
    answer, _ = bare.ask(THEMES, "auto", None)
    assert (answer.mode, answer.answered, cost_of(answer)) == ("global", True, 0)


def test_a_question_of_detail_makes_no_communities(bare):
    base = bare.open(None)
    base.ask(DETAIL)
    base.ask(DETAIL, mode="local")
    assert not base.communities.is_current()


@pytest.mark.parametrize("mode", [m.value for m in AskMode])
def test_without_a_model_each_mode_costs_nothing(sample, mode):
    for question in (THEMES, DETAIL, DETAIL_ZH):
        answer, _ = sample.ask(question, mode, None)
        assert cost_of(answer) == 0
        assert answer.model == ""


def test_little_confidence_keeps_a_local_question_from_the_model(sample):
    answer, _ = sample.ask("Who sings opera in Vienna?", "local", with_replies(answer="no"))
    assert answer.notes == (NOT_ASKED,)
    assert sample.requests == []


# --- failing models -------------------------------------------------------------------------------


GARBAGE = "]]}{ the the | | | requested\tlist:: \ufffd 0x3F ~~~ <|im_end|>"


def test_one_failed_map_is_left_out_and_told(sample):
    calls = []

    def third_fails(request):
        calls.append(request)
        if len(calls) == 2:
            return GARBAGE
        return with_replies()(request)

    answer, _ = sample.ask(THEMES, "map-reduce", with_replies(map_reports=third_fails))
    assert answer.answered
    assert answer.model
    assert any(f"1 of {len(calls)} parts of the reports" in note for note in answer.notes)


@pytest.mark.parametrize("mode", ["map-reduce", "drift"])
def test_when_all_maps_fail_the_documents_answer(sample, mode):
    script = with_replies(map_reports=GARBAGE)
    answer, _ = sample.ask(DETAIL if mode == "drift" else THEMES, mode, script)
    assert answer.answered
    assert answer.model == ""
    assert any(note.startswith("Sentences are quoted") for note in answer.notes)
    with pytest.raises(Unparsable):
        sample.ask(DETAIL, mode, script, fallback=False)


@pytest.mark.parametrize("mode", ["local", "hybrid", "global", "map-reduce", "drift"])
def test_a_useless_answer_falls_back_to_the_documents(sample, mode):
    script = with_replies(answer=GARBAGE, reduce_points=GARBAGE)
    question = DETAIL if mode in ("local", "drift") else THEMES
    answer, _ = sample.ask(question, mode, script)
    assert answer.answered
    assert answer.model == ""
    assert answer.citations


def test_ratings_and_further_questions_that_fail_are_done_without(sample):
    answer, _ = sample.ask(THEMES, "map-reduce", with_replies(rate_reports=GARBAGE))
    assert answer.answered
    assert any("could not be rated" in note for note in answer.notes)

    def unavailable(request):
        raise ModelUnavailable("No server.")

    answer, _ = sample.ask(DETAIL, "drift", with_replies(ask_further=unavailable))
    assert answer.answered
    assert "Travel Office" in answer.text
    assert any("No further questions" in note for note in answer.notes)


def test_drift_asks_a_bounded_number_of_questions(sample):
    many = "\n".join(f"{n}. What is said of thing number {n}?" for n in range(30))
    sample.ask(DETAIL, "drift", with_replies(ask_further=many))
    tasks = [task_of(request) for request in sample.requests]
    assert tasks.count("ask-further") == 2
    assert tasks.count("map-reports") == 1 + 3 + 2


def test_a_reports_model_that_fails_leaves_the_reports_as_they_are(sample):
    def unavailable(request):
        raise ModelUnavailable("No server.")

    answer, _ = sample.ask(THEMES, "global", with_replies(report_community=unavailable))
    assert answer.answered
    assert answer.model


@pytest.mark.parametrize("mode", ["map-reduce", "drift", "global", "hybrid"])
@pytest.mark.parametrize("budget", ["300", "2k", "4k"])
def test_a_budget_is_kept_and_the_rest_is_answered_without(sample, mode, budget):
    answer, _ = sample.ask(THEMES, mode, long_winded, budget=budget)
    limit = int(budget.replace("k", "000"))
    assert cost_of(answer) <= limit
    assert answer.answered
    if not answer.model:
        assert any("budget" in note for note in answer.notes)
    if limit == 300:
        with pytest.raises(BudgetExceeded):
            sample.ask(THEMES, mode, long_winded, budget=budget, fallback=False)


def test_a_budget_of_money_is_kept_by_the_prices_of_the_settings(sample):
    prices = {"llm_prices": ("scripted:* 1 2",)}
    whole, _ = sample.ask(THEMES, "global", long_winded, settings=prices, budget="1 EUR")
    assert whole.model
    answer, _ = sample.ask(THEMES, "global", long_winded, settings=prices, budget="0.0001 EUR")
    assert not answer.model
    assert any("budget" in note for note in answer.notes)
    with pytest.raises(ConfigError, match="price"):
        sample.ask(THEMES, "global", long_winded, budget="1 EUR", fallback=False)


# --- choosing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "mode"),
    [(THEMES, "global"), (THEMES_ZH, "global"), (DETAIL, "basic"), (DETAIL_ZH, "basic")],
)
def test_by_default_rules_choose_the_mode(sample, question, mode):
    assert sample.open(None).ask(question).mode == mode
    assert sample.ask(question, "auto")[0].mode == mode


def test_rules_choose_local_where_a_model_described_entities(sample):
    question = "Tell me about Oriane Keld"
    assert sample.ask(question, "auto")[0].mode == "basic"
    store = sample.open(None).store
    entity = entity_id(normal_form("Oriane Keld"))
    (((chunk_id, _),),) = store.graph.about([entity], fan=1).values()
    with store.transaction():
        store.readings.put(
            [ChunkReading(chunk_id, "m", ReadingStatus.OK)],
            [Description(chunk_id, normal_form("Oriane Keld"), "a designer of many sensors")],
        )
    assert sample.ask(question, "auto")[0].mode == "local"
    assert "a designer of many sensors" in sample.requests[-1].messages[1].content
    answer, _ = sample.ask(question, "local", settings={"answer_abstain_below": 0.99})
    assert answer.model
    assert (answer.answered, answer.reason) == (True, "")  # a model answered, if not the rules
    quoted = sample.ask(question, "auto", None)[0]
    assert (quoted.model, quoted.mode) == ("", "global")  # an overview of the passages about her


class RecordingReports:
    """Gives the reports of a store, and keeps which were asked for."""

    notes = ("A note of the source.",)

    def __init__(self, store):
        self._reports = store.capabilities.communities
        self.asked = []

    def updated(self, model):
        return self

    def reports(self, community_ids, *, spend_tokens=0):
        self.asked += [(i, spend_tokens) for i in community_ids]
        return self._reports.reports(community_ids)


@pytest.mark.parametrize(
    ("mode", "question", "most"),
    [
        ("basic", DETAIL, 0),
        ("local", DETAIL, 2),
        ("hybrid", DETAIL, 5),
        ("drift", DETAIL, 4),
        ("global", THEMES, 12),
    ],
)
def test_reports_are_asked_for_as_few_communities_as_are_needed(
    sample, monkeypatch, mode, question, most
):
    base = sample.open(None)
    source = RecordingReports(base.store)
    model = ScriptedChatModel(with_replies())
    request = AskRequest(question, mode=mode)
    monkeypatch.setattr(
        "knotwork._synthesis.engine.CommunityReports", lambda *_, **_options: source
    )
    engine = AnswerEngine(base.retrievers, model=model)
    *_, last = engine.answer(request)
    engine.close()
    assert last.value.answered
    assert bool(source.asked) == bool(most)
    assert len(source.asked) <= most
    allowed = {FIRST_REPORTS_TOKENS, FURTHER_REPORTS_TOKENS} if mode == "global" else {0}
    assert {spend for _, spend in source.asked} <= allowed
    assert ("A note of the source." in last.value.notes) == (mode != "basic")


def test_a_model_may_choose_the_mode(sample):
    answer, _ = sample.ask(DETAIL, "auto", with_replies(route_question="local"), classify=True)
    assert answer.mode == "local"
    answer, _ = sample.ask(DETAIL, "auto", with_replies(route_question="dunno"), classify=True)
    assert answer.mode == "basic"
    assert any("chosen by rules" in note for note in answer.notes)


def test_an_unknown_mode_is_refused_with_those_there_are(sample):
    with pytest.raises(UnknownName, match=r"`globl`.*`global`"):
        sample.ask(DETAIL, "globl")


def test_keywords_find_what_the_question_words_do_not(sample):
    question = "Who may authorise voyages overseas?"
    script = with_replies(expand_question="trips abroad\napproved by\nvoyage")
    plain, _ = sample.ask(question, "basic", script)
    answer, events = sample.ask(question, "basic", script, expand=True)
    found = next(e.value for e in events if e.stage is Stage.FOUND)
    assert not plain.answered
    assert any("trips abroad" in note for note in found.notes)
    assert any("Trips abroad" in hit.chunk.text for hit in found.hits)
    assert stages_of(answer) == {"search", "answer"}


def test_a_search_that_cannot_be_expanded_is_the_plain_one(sample):
    answer, _ = sample.ask(DETAIL, "basic", with_replies(expand_question="\n"), expand=True)
    assert "Travel Office" in answer.text
    assert any("not expanded" in note for note in answer.notes)
