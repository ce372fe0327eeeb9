"""Evaluate answers and retrievers on known questions, and train rankers from such questions.

To evaluate the answers of an index::

    from knotwork.evaluation import evaluate_answers, measure_answers, read_answer_questions

    questions = read_answer_questions("questions.csv")
    figures = measure_answers(evaluate_answers(knowledge_base, questions))

`judge` lets any chat model judge answers, wherever these come from.
"""

from knotwork._extensions.evaluation.answer_runs import (
    JudgedAnswer,
    evaluate_answers,
    measure_answers,
)
from knotwork._extensions.evaluation.judge import JudgeCase, JudgeReport, judge, read_labelled_cases
from knotwork._extensions.evaluation.questions import AnswerQuestion, read_answer_questions

__all__ = [
    "AnswerQuestion",
    "JudgeCase",
    "JudgeReport",
    "JudgedAnswer",
    "evaluate_answers",
    "judge",
    "measure_answers",
    "read_answer_questions",
    "read_labelled_cases",
]
