"""Questions asked of a knowledge base are answered as `ask` answers them, and judged."""

import pytest

import knotwork
from knotwork._extensions.evaluation.answer_runs import (
    ask_questions,
    evaluate_answers,
    missing_documents,
)
from knotwork._extensions.evaluation.questions import AnswerQuestion
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import BudgetExceeded
from knotwork.records import Document

TEXTS = {
    "hr/team.md": "Ada Lovelace leads the Travel Office. Grace Hopper helps her.",
    "hr/travel.md": "The Travel Office approves travel abroad. A hotel may cost 140 crowns.",
    "zh/出差.md": "出差到北京需要部门经理批准。部门经理是王小明。",
}
LEADER = AnswerQuestion(
    "Who leads the Travel Office?", (("Ada Lovelace",),), ("team.md",), id="leader"
)
MANAGER = AnswerQuestion("部门经理是谁？", (("王小明",),), ("zh/出差.md",), id="manager")
BOILING = AnswerQuestion("At what temperature does xenon boil?", id="boiling")


def opened(**options):
    knowledge_base = knotwork.open("memory:", embedding_model="none", **options)
    knowledge_base.index_documents([Document(uri, text) for uri, text in TEXTS.items()])
    return knowledge_base


@pytest.fixture
def kb():
    with opened() as knowledge_base:
        yield knowledge_base


def test_answers_match_ask(kb):
    questions = [LEADER, MANAGER, BOILING]
    answers = evaluate_answers(kb, questions)
    assert [item.question for item in answers] == questions
    for item in answers:
        asked = kb.ask(item.question.text)
        assert (item.answer.text, item.answer.confidence) == (asked.text, asked.confidence)
        assert item.seconds > 0
        assert item.tokens == 0
    assert [item.is_correct for item in answers] == [True, True, True]
    leader, manager, boiling = (item.judgement for item in answers)
    assert leader.found
    assert leader.cites_gold
    assert manager.right_first
    assert not boiling.answered


def test_options_match_ask(kb):
    (item,) = evaluate_answers(kb, [LEADER], mode="global")
    assert item.answer.mode == "global"


def test_gold_documents_that_are_not_in_the_index_are_named(kb):
    typo = AnswerQuestion("Who?", (("Ada",),), ("teams.md", "team.md"), line=7)
    assert missing_documents(kb, [LEADER, typo, MANAGER]) == {"teams.md": typo}


def test_a_model_that_writes_the_answer_is_paid_for():
    with opened(chat_model=ScriptedChatModel("Ada Lovelace does [1].")) as kb:
        (item,) = evaluate_answers(kb, [LEADER])
        assert item.answer.model
        assert item.judgement.right_first
        assert item.tokens == item.answer.usage.input_tokens + item.answer.usage.output_tokens > 0
        (quoted,) = evaluate_answers(kb, [LEADER], use_llm=False)
        assert quoted.tokens == 0


def test_a_budget_covers_all_questions_and_quotes_do_not_replace_the_model():
    model = ScriptedChatModel("Ada Lovelace does [1].")
    questions = [
        AnswerQuestion(f"Who leads the Travel Office in 19{n}?", (("Ada",),), id=str(n))
        for n in range(10, 40)
    ]
    asked = []
    with opened(chat_model=model) as kb, pytest.raises(BudgetExceeded):
        asked.extend(ask_questions(kb, questions, budget="3000"))
    assert 0 < len(asked) < len(questions)
    assert all(item.answer.model for item in asked)
    assert sum(item.tokens for item in asked) <= 3000
    assert len(model.requests) == len(asked)
