"""Answers from chosen passages: noise, no gold passage, several documents, changed facts."""

import re

import pytest
from benchmarks.judging.word_judge import scripted_judge, task_of, word_judge

import knotwork
from knotwork._extensions.evaluation.answer_runs import evaluate_answers
from knotwork._extensions.evaluation.judge_runs import JudgeRun, JudgingOptions, describe_judged_run
from knotwork._extensions.evaluation.questions import AnswerQuestion
from knotwork._extensions.evaluation.robustness import (
    Condition,
    GivenPassage,
    Outcome,
    QuestionPassages,
    find_passages,
    make_trials,
    measure_robustness,
    run_trials,
)
from knotwork._inference.chat import ChatRequest
from knotwork.errors import BudgetExceeded, ConfigError
from knotwork.records import Answer, Document
from knotwork.testing import ScriptedChatModel

TEXTS = {
    "team.md": "Ada Lovelace leads the Travel Office.",
    "help.md": "Grace Hopper helps in the Travel Office.",
    "hotel.md": "A hotel may cost 140 crowns a night for the Travel Office.",
    "trains.md": "The Travel Office prefers trains to planes.",
    "lunch.md": "The Travel Office has lunch at noon.",
    "rooms.md": "The Travel Office has rooms in the old wing.",
}
LEADER = AnswerQuestion(
    "Who leads the Travel Office?", (("Ada Lovelace",),), ("team.md",), id="leader"
)
PRICE = AnswerQuestion(
    "What may a hotel cost for the Travel Office?", (("140 crowns",),), ("hotel.md",), id="price"
)
BOTH = AnswerQuestion(
    "Who leads the Travel Office, and who helps there?",
    (("Ada Lovelace",), ("Grace Hopper",)),
    ("team.md", "help.md"),
    id="both",
)
UNKNOWN = AnswerQuestion("At what temperature does xenon boil?", id="xenon")


@pytest.fixture
def kb():
    with opened() as knowledge_base:
        yield knowledge_base


def opened(**options):
    knowledge_base = knotwork.open("memory:", embedding_model="none", **options)
    knowledge_base.index_documents([Document(uri, text) for uri, text in TEXTS.items()])
    return knowledge_base


def echo(_question, passages):
    """Answer with all passages, so that the answer has every fact in them."""
    return Answer("", " ".join(p.text for p in passages), answered=bool(passages))


def test_gold_passages_match_the_documents_and_noise_has_no_answer(kb):
    (found,) = find_passages(kb, [UNKNOWN, BOTH])
    assert {p.text for p in found.gold} == {TEXTS["team.md"], TEXTS["help.md"]}
    assert found.noise
    assert not any("Ada" in p.text or "Grace" in p.text for p in found.noise)
    gone = AnswerQuestion("Who?", (("Ada",),), ("gone.md",))
    assert list(find_passages(kb, [gone, AnswerQuestion("Who?", (("Ada",),))])) == []


def test_the_passage_with_the_quote_is_the_gold_one():
    words = " ".join(f"Line {n} says little about the office." for n in range(300))
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents([Document("a.md", f"{words}\n\nAda leads it.\n\n{words}\n\nAda eats.")])
        asked = AnswerQuestion("Who?", (("Ada",),), ("a.md",), quotes=("Ada  eats.",))
        (found,) = find_passages(kb, [asked])
        (gold,) = found.gold
        assert "Ada eats." in gold.text


def test_conditions_have_the_passages_that_they_name():
    gold = (GivenPassage("", "Ada leads in 2021."),)
    noise = tuple(GivenPassage("", f"Noise {n}.") for n in range(8))
    asked = AnswerQuestion("When?", (("2021",),), ("a.md",))
    trials = make_trials([QuestionPassages(asked, gold, noise)])
    by_condition = {(t.condition, t.ratio): t for t in trials}
    assert len(by_condition) == len(trials) == 6
    for ratio, count in ((0.0, 0), (0.5, 1), (0.8, 4)):
        trial = by_condition[Condition.NOISE, ratio]
        assert set(trial.passages) == {*gold, *noise[:count]}
        assert trial.noise == count
    alone = by_condition[Condition.WITHOUT_GOLD, 0.0]
    assert (len(alone.passages), alone.gold) == (5, 0)
    assert gold[0] not in alone.passages
    (changed,) = by_condition[Condition.COUNTERFACTUAL, 0.0].passages
    assert "2021" not in changed.text
    assert set(by_condition[Condition.CONFLICT, 0.0].passages) == {*gold, changed}
    assert make_trials([QuestionPassages(asked, gold, noise)]) == trials


def test_without_noise_there_are_no_trials_with_noise():
    gold = (GivenPassage("", "Yes, it does."),)
    asked = AnswerQuestion("Does it?", (("yes",),), ("a.md",))
    (trial,) = make_trials([QuestionPassages(asked, gold, ())])
    assert (trial.condition, trial.ratio) == (Condition.NOISE, 0.0)


def test_figures_of_an_answerer_that_repeats_everything():
    gold = (GivenPassage("", "Ada leads in 2021."), GivenPassage("", "Bob helps."))
    noise = tuple(GivenPassage("", f"Noise {n}.") for n in range(8))
    asked = AnswerQuestion("When?", (("2021",),), ("a.md", "b.md"))
    results = list(run_trials(make_trials([QuestionPassages(asked, gold, noise)]), echo))
    figures = {f.name: f for f in measure_robustness(results, judged=False)}
    shares = {n: f.estimate.mean for n, f in figures.items() if f.estimate}
    assert shares == {
        "noise_0": 1.0,
        "noise_0.5": 1.0,
        "noise_0.8": 1.0,
        "integration_0": 1.0,
        "integration_0.5": 1.0,
        "integration_0.8": 1.0,
        "rejection": 0.0,
        **{f"counterfactual_{o}": float(o is Outcome.CHANGED) for o in Outcome},
        **{f"conflict_{o}": float(o is Outcome.BOTH) for o in Outcome},
    }
    assert not any(f.needs_judge for f in figures.values())


def test_a_judge_says_which_answers_refuse_in_words_or_notice():
    gold = (GivenPassage("", "Ada leads in 2021."),)
    noise = tuple(GivenPassage("", f"Noise {n}.") for n in range(4))
    asked = AnswerQuestion("When?", (("2021",),), ("a.md",), id="1")
    trials = make_trials([QuestionPassages(asked, gold, noise)])

    def careful(_question, passages):
        texts = " ".join(p.text for p in passages)
        if "leads" not in texts:
            return Answer("", "The documents do not say.", answered=True)
        return Answer("", f"The sources contradict what I know: 2021. {texts}", answered=True)

    model = word_judge()
    results = list(run_trials(trials, careful, judge=model))
    assert sorted(map(task_of, model.requests)) == ["notice", "notice", "refusal"]
    figures = {f.name: f for f in measure_robustness(results, judged=True)}
    assert figures["rejection"].estimate.mean == 0.0
    assert figures["rejection_judged"].estimate.mean == 1.0
    assert figures["counterfactual_noticed"].estimate.mean == 1.0
    assert figures["counterfactual_corrected"].estimate.mean == 0.0
    assert figures["rejection_judged"].needs_judge
    garbage = scripted_judge({"refusal": "?", "notice": ""})
    results = list(run_trials(trials, careful, judge=garbage))
    figures = {f.name: f for f in measure_robustness(results, judged=True)}
    for name in ("rejection_judged", "counterfactual_noticed", "conflict_noticed"):
        assert (figures[name].trials, figures[name].unreadable) == (0, 1)
        assert figures[name].estimate is None


def test_a_refusal_needs_no_judge():
    asked = AnswerQuestion("When?", (("2021",),), ("a.md",), id="1")
    item = QuestionPassages(asked, (GivenPassage("", "In 2021."),), (GivenPassage("", "No."),))
    model = word_judge()
    refuse = Answer("", "I don't know.", answered=False)
    results = list(run_trials(make_trials([item]), lambda *_: refuse, judge=model))
    assert model.requests == []
    figures = {f.name: f for f in measure_robustness(results, judged=True)}
    assert figures["rejection"].estimate.mean == figures["rejection_judged"].estimate.mean == 1.0
    assert figures["counterfactual_refused"].estimate.mean == 1.0


def test_an_index_without_a_model_is_tried_with_quotes(kb):
    questions = [LEADER, PRICE, BOTH, UNKNOWN]
    answers = evaluate_answers(kb, questions)
    options = JudgingOptions(with_conditions=True)
    with JudgeRun(kb, answers, options) as run:
        assert run.estimate().calls == 0
        counted = []
        report = run.run(lambda *step: counted.append(step))
        again = run.run(lambda *step: None)
    assert report.judged is None
    assert (report.robustness.questions, report.robustness.skipped) == (3, 0)
    assert counted[-1][1] == counted[-1][2] == len(report.robustness.results)
    figures = {f.name: f for f in report.robustness.figures}
    assert figures["noise_0"].trials == 3
    assert figures["integration_0"].trials == 1
    assert figures["counterfactual_changed"].estimate.mean > 0.5
    assert describe_judged_run(again) == describe_judged_run(report)
    assert kb.stats().documents == len(TEXTS)


def write_or_judge(request: ChatRequest) -> str:
    """Answer with the passage that has the most words of the question, or judge by words."""
    if request.stage != "answer":
        return JUDGE._script(request)
    content = request.messages[1].content
    question = re.search(r"<question>\n(.*)\n</question>", content)[1]
    lines = re.findall(r"^\[(\d+)\](.*)$", content, re.MULTILINE)
    number, text = max(lines, key=lambda line: len({*line[1].split()} & {*question.split()}))
    return f"{text.strip()} [{number}]"


JUDGE = word_judge()


def test_a_model_writes_the_answers_and_judges_them_under_one_budget():
    questions = [LEADER, PRICE, BOTH]
    model = ScriptedChatModel(write_or_judge)
    options = JudgingOptions(with_judge=True, with_conditions=True)
    with opened(chat_model=model) as kb:
        answers = evaluate_answers(kb, questions)
        asked = len(model.requests)
        with JudgeRun(kb, answers, options, model=model) as run:
            estimate = run.estimate()
            assert len(model.requests) == asked
            report = run.run(lambda *_: None)
        made = len(model.requests) - asked
        assert 0 < made <= estimate.calls
        assert report.usage.calls == made
        stages = {stage.stage for stage in estimate.stages}
        assert stages >= {"answer", "judge-support"}
        assert {request.stage for request in model.requests} <= stages
        limited = JudgingOptions(with_conditions=True, budget="500")
        with JudgeRun(kb, answers, limited, model=model) as run, pytest.raises(BudgetExceeded):
            run.run(lambda *_: None)


def test_a_second_run_over_an_index_file_costs_nothing(tmp_path):
    model = ScriptedChatModel(write_or_judge)
    options = JudgingOptions(with_judge=True, with_conditions=True)
    described = []
    for _ in range(2):
        path = tmp_path / "a.knot"
        with knotwork.open(path, embedding_model="none", chat_model=model) as kb:
            kb.index_documents([Document(u, t) for u, t in TEXTS.items()], tier="none")
            answers = evaluate_answers(kb, [LEADER, BOTH])
            with JudgeRun(kb, answers, options, model=model) as run:
                described.append(run.estimate().calls)
                described.append(describe_judged_run(run.run(lambda *_: None)))
        described.append(len(model.requests))
    assert described[0] > 0
    assert described[3] == 0
    assert described[5] == described[2]
    first, second = described[1], described[4]
    assert second.pop("usage")["calls"] == 0
    first.pop("usage")
    assert first == second


def test_a_judge_must_be_set(kb):
    with pytest.raises(ConfigError, match="No judge model"):
        JudgeRun(kb, [], JudgingOptions(with_judge=True))
