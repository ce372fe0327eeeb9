"""What questions state about documents, and what they do not."""

from __future__ import annotations

from datetime import date

import pytest

from knotwork._questions.languages import find_stated_filter

TODAY = date(2024, 3, 15)


@pytest.mark.parametrize(
    ("question", "stated"),
    [
        ("Which reports from 2023 mention the reef?", "date = '2023'"),
        ("What do the documents from last year say about travel?", "date = '2023'"),
        ("Summarize the notes written in May 2022.", "date = 'may 2022'"),
        ("Who is named in emails sent since 2023-11?", "date >= '2023-11'"),
        ("List articles published before 2020", "date < '2020'"),
        ("articles that were published after March 3, 2021", "date > 'march 3, 2021'"),
        ("posts up to 2019 on salt", "date <= '2019'"),
        ("papers between 2019 and 2021 about buoys", "date >= '2019' and date <= '2021'"),
        ("minutes from last month", "date = '2024-02'"),
        ("Do letters dated 5 May 2020 mention him?", "date = '5 may 2020'"),
        ("What changed since version 12?", "version >= '12'"),
        ("Was it removed before version 9.6?", "version < '9.6'"),
        ("2023年的报告提到了什么？", "date = '2023年'"),
        ("去年发布的文章有哪些？", "date = '2023'"),
        ("2022年5月以来的会议纪要说了什么？", "date >= '2022年5月'"),
        ("2020年以前撰写的文档", "date < '2020年'"),
        ("自版本12以来有什么变化？", "version >= '12'"),
    ],
)
def test_times_of_documents_are_stated(question: str, stated: str) -> None:
    found = find_stated_filter(question, today=TODAY)
    assert found is not None
    assert str(found.filter) == stated
    assert found.words in question


@pytest.mark.parametrize(
    "question",
    [
        "What happened in 2023?",
        "Who was president last year?",
        "How many documents were signed in 2023?",
        "What does the 2023 report say?",
        "What does the annual report of 2023 say?",
        "last year's report",
        "Which film released in 2010 won the prize?",
        "Who reported from 2004 to 2008?",
        "How many reports from 2000 people came in?",
        "What files were created before 2020?",
        "What is new in version 12?",
        "since version 12.3.4",
        "the paper from 20231",
        "reports from May",
        "documents from the last decade",
        "2023年发生了什么？",
        "2023年年度报告",
        "2023年之后的文档",
        "他去年写了什么？",
        "reports from 2022 and articles published since 2023",
        "Did the article published on October 1, 2023 differ from that of November 3?",
        "Do the articles published on 2023-10-20 agree with that of 2023-11-03?",
        "Were reports after May 2023 gloomier than in 2021?",
        "",
    ],
)
def test_ambiguous_words_are_left_alone(question: str) -> None:
    assert find_stated_filter(question, today=TODAY) is None


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("What is the budget, according to the reports from 2023?", "What is the budget?"),
        ("In all documents written since 2020, who is named?", "who is named?"),
        ("Which reports from 2023 mention it?", "Which reports mention it?"),
        ("What changed since version 12?", "What changed since version 12?"),
        ("在2023年的文档里，谁批准出差？", "谁批准出差？"),
        ("2023年的报告提到了什么？", "报告提到了什么？"),
    ],
)
def test_words_that_became_a_filter_are_not_searched_for(question: str, rest: str) -> None:
    found = find_stated_filter(question, today=TODAY)
    assert found is not None
    assert found.rest == rest
