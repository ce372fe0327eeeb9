"""Evaluate answers and retrievers on known questions, and train rankers from such questions.

To evaluate the answers of an index::

    from knotwork.evaluation import evaluate_answers, measure_answers, read_answer_questions

    questions = read_answer_questions("questions.csv")
    figures = measure_answers(evaluate_answers(knowledge_base, questions))
"""

from knotwork.evaluation._answer_figures import measure_answers
from knotwork.evaluation._answer_questions import AnswerQuestion, read_answer_questions
from knotwork.evaluation._answer_runs import JudgedAnswer, evaluate_answers

__all__ = [
    "AnswerQuestion",
    "JudgedAnswer",
    "evaluate_answers",
    "measure_answers",
    "read_answer_questions",
]
