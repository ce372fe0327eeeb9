"""Questions on a topic that one section of a manual answers, and questions for steps."""

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork._questions.reading import reading_of
from knotwork.records import Document

pytestmark = pytest.mark.slow


LOG = """# Log {n}

## Weather

The wind at pier {n} was moderate on day {n}. The sky over the harbour was clear.

## Meals

There was soup of the kind {n}.
"""
LOG_ZH = """# 日志{n}

## 天气

第{n}天风力中等，海面平静，能见度良好。

## 伙食

第{n}天吃鱼。
"""
LOGS = {f"log-{n}.md": LOG.format(n=n) for n in range(120)}
LOGS |= {f"日志{n}.md": LOG_ZH.format(n=n) for n in range(120)}
FLOOD = """# When the pump room is flooded

Sooner or later the pump room is flooded, however well the pumps are looked after.

## 1. Cutting the power

The main switch must be turned off before anybody enters the flooded pump room. It is red.

    switchctl --off

## 2. Draining the water

The mobile pump drains the flooded room in about two hours. Hoses are kept in the shed.

The drained water has to be led into the settling basin, as it may hold oil.

## 3. Drying the motors

Motors that stood in water are dried for three days before they are measured.

## 4. Writing the report

The insurance needs a report with photographs of the flooded pump room within a week.

## See also

The manual of the mobile pump is in the office.
"""
MOORING = """# Mooring a buoy

A buoy is moored in calm weather only, and never by one person alone.

To moor a buoy:

1. Choose a place that is at least ten metres deep for the buoy.
2. Lower the anchor of the buoy slowly over the stern
3. Shackle the chain to the buoy, and secure the shackle with wire.

   > The wire must be of steel.

4. Release the buoy and note its position in the book.

Moored buoys are inspected every spring by divers from the mainland.
"""
DUTY = """# 值班手册

本手册说明观测站的值班安排。

## 制定排班表

排班表关系到每个人的休息，制定之前应当慎重。先回答下面几个问题：

- 谁能值夜班？身体不适的员工不能排夜班。
- 站里最少要留几个人？少于三人时浮标无法回收。
- 排班表多久更新一次？

排班表的另一个限制是预算，加班费不能超过年度预算的一成。

## 交接班

交接班时要在登记簿上签字。
"""


def index_files(base, folder, texts):
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    base.index(folder)


@pytest.fixture(scope="module")
def manuals(tmp_path_factory):
    """An index of many logs, among them three manuals with a section on one subject each."""
    manuals = {"flood.md": FLOOD, "mooring.md": MOORING, "duty.md": DUTY}
    with knotwork.open("memory:", embedding_model="none", answer_abstain_below=0.0) as base:
        index_files(base, tmp_path_factory.mktemp("docs"), LOGS | manuals)
        yield base


def ask(base, question):
    answer = base.ask(question)
    check_citations(base, answer)
    return answer


def lines(answer):
    return [line for line in answer.text.splitlines() if line.startswith("- ")]


def test_a_topic_is_summarised_from_the_section_that_is_about_it(manuals):
    answer = ask(manuals, "What does the manual say about a flooded pump room?")
    assert answer.text.startswith("**When the pump room is flooded** (4 sections):\n\n- Sooner or")
    assert [line.split("**")[1] for line in lines(answer)[1:]] == [
        "Cutting the power",
        "Draining the water",
        "Drying the motors",
        "Writing the report",
    ]
    assert [piece.kind for piece in answer.pieces] == ["sentence", *["section"] * 4]
    assert "The main switch must be turned off" in lines(answer)[1]
    assert "switchctl" not in answer.text
    assert {citation.document.rsplit("/")[-1] for citation in answer.citations} == {"flood.md"}
    assert (answer.answered, answer.mode) == (True, "global")
    assert answer.confidence is not None


@pytest.mark.parametrize(
    "question",
    [
        "What topics does the page on the flooded pump room go through?",
        "What is covered in the section about a flooded pump room?",
        "What can I read in the page about the flooded pump room?",
    ],
)
def test_a_page_that_is_named_is_summarised_by_its_sections(manuals, question):
    answer = ask(manuals, question)
    assert answer.text.startswith("**When the pump room is flooded** (4 sections):\n\n- Sooner or")
    assert len(lines(answer)) == 5


@pytest.mark.parametrize(
    "question", ["讲制定排班表的部分有哪些要点？", "制定排班表那一节讲了什么？"]
)
def test_a_named_chinese_section_is_summarised(manuals, question):
    assert ask(manuals, question).text.startswith("**制定排班表**：\n\n- ")


def test_sentences_that_are_left_go_to_further_paragraphs(manuals):
    answer = ask(manuals, "What does the manual say about a flooded pump room?")
    draining = next(line for line in lines(answer) if "Draining" in line)
    assert "The mobile pump drains" in draining
    assert "settling basin" in draining
    assert len(answer.citations) <= 8


def test_without_subsections_a_topic_is_summarised_from_paragraphs_and_items(manuals):
    answer = ask(manuals, "What does the manual say about mooring a buoy?")
    assert answer.text.startswith("**Mooring a buoy**:\n\n- A buoy is moored in calm weather only")
    assert [line.split()[1] for line in lines(answer)[1:5]] == [
        "Choose",
        "Lower",
        "Shackle",
        "Release",
    ]
    assert "Lower the anchor of the buoy slowly over the stern [" in answer.text


def test_short_items_are_quoted_whole(manuals):
    answer = ask(manuals, "手册里关于制定排班表说了什么？")
    assert answer.text.startswith("**制定排班表**：\n\n- ")
    assert "谁能值夜班？身体不适的员工不能排夜班。[" in answer.text
    assert "站里最少要留几个人？少于三人时浮标无法回收。[" in answer.text
    assert "加班费" in answer.text
    assert "签字" not in answer.text


def test_a_topic_that_sections_of_two_documents_are_about_is_summarised_from_both(tmp_path):
    twins = {"flood.md": FLOOD, "flood-2.md": FLOOD.replace("pump", "engine")}
    with knotwork.open("memory:", embedding_model="none") as base:
        index_files(base, tmp_path, LOGS | twins)
        answer = ask(base, "What do the documents say about a flooded room?")
    assert {citation.document.rsplit("/")[-1] for citation in answer.citations} == set(twins)


@pytest.mark.parametrize(
    ("question", "lead", "last"),
    [
        ("What are the steps to moor a buoy?", "To moor a buoy:", "4. Release the buoy"),
        (
            "制定排班表之前要先回答哪些问题？",
            "先回答下面几个问题：",
            "- 排班表多久更新一次？",
        ),
    ],
)
def test_steps_are_answered_by_their_list(manuals, question, lead, last):
    answer = ask(manuals, question)
    assert (answer.mode, answer.pieces[0].kind) == ("basic", "list")
    assert answer.pieces[0].markdown.startswith(f"{lead}\n\n")
    assert last in answer.pieces[0].markdown


def test_steps_of_two_things_are_answered_part_by_part(manuals):
    question = "How is the wind measured, and how is the soup cooked, step by step?"
    assert reading_of(question).division is not None
    assert ask(manuals, question).text == manuals.ask(question, mode="basic").text


def test_an_index_of_one_short_document_has_no_section_that_stands_out():
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index_documents([Document("mooring.md", "# Buoys\n\nBuoys are moored in spring.")])
        assert base.ask("What are the steps to moor a buoy?").text
    with knotwork.open("memory:", embedding_model="none") as base:
        assert not base.ask("What are the steps to moor a buoy?").answered
