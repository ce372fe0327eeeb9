"""Overviews, summaries, topics and counts of small indexes: their texts and citations."""

from dataclasses import replace

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork._synthesis.ask_request import CommunityReports
from knotwork.records import Document

pytestmark = pytest.mark.slow


GUIDE = """# Station guide

This guide describes how the station of Skarrow is run. Copyright 2024 by the station. All rights
reserved.

## Contents

1 Buoys
2 Storms

## Buoys

Buoys measure the salt and the temperature of the water every hour. They are painted yellow.

    buoyctl --reset --all

## Storms

Storms tear buoys from their moorings in most winters. Before a storm the crew of Oriane Keld hauls
the boats ashore.

## Food

The kitchen serves fish on every day of the week except Monday.
"""
TRAVEL = """# Travel policy

Trips abroad are approved by the Travel Office. A hotel may cost 120 crowns a night.

## Safety

Nobody travels to the station during storms. Safety comes before every measurement.
"""
TEAM = """# The team

Oriane Keld leads the station since 2019. Bram Ostrand, her deputy, was born in Varrow.

Mr Bram Ostrand repairs the buoys. Mr Dario Fenn pays the bills of the station.
"""
CHINESE = """# 差旅管理办法

本办法适用于望汐办事处全体员工，自2024年1月1日起施行。

## 审批

国内出差由部门主管审批，应当提前三个工作日提出申请。

## 住宿

住宿费每晚不超过四百五十元，超出部分由个人承担。
"""


@pytest.fixture
def station(tmp_path):
    """An index of four documents with headings."""
    folder = tmp_path / "docs"
    folder.mkdir()
    texts = {"guide.md": GUIDE, "travel.md": TRAVEL, "team.md": TEAM, "差旅.md": CHINESE}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    with knotwork.open(tmp_path / "docs.knot", embedding_model="none") as opened:
        opened.index(folder)
        yield opened


def ask(base, question, **options):
    answer = base.ask(question, **options)
    check_citations(base, answer)
    return answer


def lines(answer):
    return [line for line in answer.text.splitlines() if line.startswith("- ")]


def test_all_documents_have_a_line_each_where_they_are_few(station):
    answer = ask(station, "What are these documents about?")
    assert (answer.answered, answer.mode) == (True, "global")
    assert answer.text.startswith("4 documents:\n\n- **Station guide**: ")
    for title in ("Station guide", "Travel policy", "The team", "差旅管理办法"):
        assert any(line.startswith(f"- **{title}**: ") for line in lines(answer))
    assert "This guide describes how the station of Skarrow is run." in answer.text
    documents = [piece for piece in answer.pieces if piece.kind == "document"]
    assert len(documents) == 4
    for piece in documents:
        assert f"- {piece.markdown}" in lines(answer)
        assert answer.citations[piece.citation - 1].title in piece.markdown


NAMES = (
    "Salt",
    "Tides",
    "Ice",
    "Wind",
    "Fog",
    "Rain",
    "Hail",
    "Snow",
    "Dew",
    "Frost",
    "Sun",
    "Sea",
)


def ask_with_evidence(base, question):
    events = list(base.ask.run(question))
    return events[-1].value, next(e.value for e in reversed(events) if e.stage == "found")


@pytest.fixture
def almanac(station, tmp_path):
    """The station with a document of twelve sections, each longer than the one before."""
    sections = [
        f"## {name}\n\n{name} is measured at the pier every morning. " + "It is noted. " * place
        for place, name in enumerate(NAMES)
    ]
    text = "# Almanac\n\n" + "\n\n".join(sections)
    (tmp_path / "docs" / "almanac.md").write_text(text, encoding="utf-8")
    station.index(tmp_path / "docs")
    return station


def test_an_outline_is_short_and_says_how_much_it_leaves_out(almanac):
    answer = ask(almanac, "Summarize almanac.md")
    labels = [line.split("**")[1] for line in lines(answer)]
    assert labels == [*NAMES[-8:], "Also"]
    assert lines(answer)[-1] == "- **Also**: Salt; Tides; Ice; Wind"
    assert len(answer.citations) == len(answer.pieces) == 8
    chinese = ask(almanac, "总结一下《Almanac》")
    assert chinese.text.endswith("**此外**：Salt；Tides；Ice；Wind")


def test_the_evidence_of_an_outline_has_the_headings_that_it_leaves_out(almanac):
    answer, evidence = ask_with_evidence(almanac, "Summarize almanac.md")
    assert answer.answered
    text = " ".join(hit.chunk.text for hit in evidence.hits)
    assert all(f"## {name}" in text or f"{name} is measured" in text for name in NAMES)


@pytest.mark.parametrize(
    "question", ["What is this about?", "Summarize guide.md", "Which people are mentioned most?"]
)
def test_answers_about_the_index_itself_have_no_confidence(station, question):
    answer = ask(station, question)
    assert answer.answered
    assert (answer.confidence, answer.strength) == (None, None)


def test_answers_on_a_topic_have_a_confidence_unless_nothing_is_found(station):
    present = ask(station, "What do the documents say about storms?")
    absent = ask(station, "What do the documents say about opera singers?")
    assert present.confidence > absent.confidence
    assert present.strength in {"strong", "weak"}
    assert absent.strength == "none"
    assert len(absent.citations) <= 3


def test_themes_in_the_language_of_the_question_come_first(tmp_path):
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index_documents(
            [Document(f"{n}.md", TRAVEL.replace("Travel", f"Trip {n}")) for n in range(5)]
            + [Document(f"{n}.zh.md", CHINESE.replace("差旅", f"差旅{n}")) for n in range(5)]
        )
        english, chinese = (
            ask(base, question).text.splitlines()[2]
            for question in ("What is this about?", "这些文档讲了什么？")
        )
    assert "abroad" in english or "station" in english
    assert any(word in chinese for word in ("员工", "出差", "住宿"))


def test_nothing_of_a_legal_notice_a_contents_page_or_code_is_quoted(station):
    answers = [
        ask(station, question).text
        for question in (
            "Summarize the documents",
            "Summarize guide.md",
            "What is said about buoys?",
        )
    ]
    for text in answers:
        assert "Copyright" not in text
        assert "reserved" not in text
        assert "buoyctl" not in text
        assert "1 Buoys" not in text


@pytest.mark.parametrize(
    "question",
    ["Summarize guide.md", "What is the station guide about?", "Summarise the Station Guide."],
)
def test_a_document_is_summarised_by_its_sections_in_order(station, question):
    answer = ask(station, question)
    assert answer.text.startswith("**Station guide** (3 sections):")
    labels = [line.split("**")[1] for line in lines(answer) if "**" in line]
    assert [x for x in labels if x in {"Buoys", "Storms", "Food"}] == ["Buoys", "Storms", "Food"]
    assert {citation.document for citation in answer.citations} == {"docs/guide.md"}


def test_a_section_is_summarised_by_its_name(station):
    answer = ask(station, "Summarise the section Storms")
    assert answer.text.startswith("**Storms**:")
    assert "Storms tear buoys from their moorings in most winters." in answer.text


def test_a_topic_is_summarised_from_several_documents(station):
    answer = ask(station, "What do the documents say about storms?")
    assert answer.answered
    assert {"docs/guide.md", "docs/travel.md"} <= {c.document for c in answer.citations}
    assert "Nobody travels to the station during storms." in answer.text


def test_a_topic_of_one_document_is_summarised_from_it_alone(station):
    answer = ask(station, "What does the travel policy say about storms?")
    assert {c.document for c in answer.citations} == {"docs/travel.md"}


def test_an_unknown_topic_has_no_overview(station):
    answer = ask(station, "What do the documents say about opera singers?")
    assert not answer.answered
    assert answer.reason in {"no_evidence", "low_confidence"}


def test_people_are_counted_with_a_citation_each(station):
    answer = ask(station, "Which people are mentioned most often?")
    assert answer.answered
    assert len(lines(answer)) == len(answer.citations) > 0
    for line, citation in zip(lines(answer), answer.citations, strict=True):
        name = line.removeprefix("- ").split(":")[0]
        assert name.split()[-1] in citation.quote
        assert " in 1 document" in line or " documents" in line


def test_mentions_are_counted_exactly(station):
    answer = ask(station, "How many documents mention storms?")
    text = " ".join((GUIDE + TRAVEL).split()).lower()
    assert f"is mentioned {text.count('storms')} times" in answer.text
    assert "of 2 documents, of 4 in all" in answer.text
    assert all("storms" in citation.quote.lower() for citation in answer.citations)
    assert ask(station, "Which documents mention operas?").text == (
        "None of the 4 documents mentions “operas”."
    )


def test_a_word_is_counted_as_a_whole(station):
    assert "mentions" in ask(station, "How often is buo mentioned?").text


def test_an_overview_is_worded_in_the_language_of_the_question(station):
    assert ask(station, "这些文档讲了什么？").text.startswith(
        "共4个文档：\n\n- **差旅管理办法**：本办法"
    )
    answer = ask(station, "总结一下差旅管理办法")
    assert answer.text.startswith("**差旅管理办法**（2个章节）：")
    assert "- **住宿**：住宿费每晚不超过四百五十元，超出部分由个人承担。[" in answer.text
    assert "“住宿”共提到" in ask(station, "有多少文档提到住宿？").text


def test_many_documents_are_summarised_by_their_themes():
    from tests.indexing.communities.worlds import all_documents

    with knotwork.open("memory:", embedding_model="none") as opened:
        opened.index_documents(all_documents())
        answer = ask(opened, "What are these documents about?")
        assert answer.text.startswith("12 documents:\n\n- **harbour-0.txt**: ")
        for topic in ("harbour", "kitchen", "observatory"):
            assert topic in answer.text


def test_an_index_that_cannot_be_written_to_is_reported_without_communities(tmp_path):
    from tests.indexing.communities.worlds import all_documents

    with knotwork.open(tmp_path / "a.knot", embedding_model="none") as opened:
        opened.index_documents(all_documents())
    with knotwork.open(tmp_path / "a.knot", embedding_model="none", read_only=True) as opened:
        answer = ask(opened, "What are these documents about?")
        assert answer.answered
        assert len(lines(answer)) > 3
        assert any("communities" in note for note in answer.notes)


@pytest.mark.parametrize(
    "question",
    [
        "What are these documents about?",
        "What do the documents say about safety?",
        "Which people are mentioned most often?",
        "How many documents mention storms?",
        "Summarize guide.md",
        "Who are the main characters?",
    ],
)
@pytest.mark.parametrize("text", [None, "", "| 1 | 2 |\n|---|---|", "x = [1]\n" * 50])
def test_an_index_without_prose_is_no_error(question, text):
    with knotwork.open("memory:", embedding_model="none") as opened:
        if text is not None:
            opened.index_documents([Document("guide.md", text)])
        answer = ask(opened, question)
        assert answer.text


def test_other_modes_and_questions_stay_as_they_are(station):
    assert ask(station, "Who approves trips abroad?").mode == "basic"
    assert ask(station, "What are these documents about?", mode="basic").mode == "basic"
    assert ask(station, "Tell me about Oriane Keld", mode="basic").mode == "basic"


def test_communities_are_needed_for_the_whole_alone(station, monkeypatch):
    updated = []
    update = CommunityReports.updated

    def record(reports, model):
        updated.append(reports)
        return update(reports, model)

    monkeypatch.setattr(CommunityReports, "updated", record)
    for question, mode, is_needed in (
        ("What are these documents about?", "auto", True),
        ("Who are the main characters?", "auto", True),
        ("How many documents mention storms?", "auto", False),
        ("What are these documents about?", "basic", False),
    ):
        updated.clear()
        ask(station, question, mode=mode)
        assert bool(updated) == is_needed, question


def test_a_topic_of_short_sentences_is_answered_as_other_questions_are():
    base = knotwork.open("memory:", embedding_model="none")
    for number, text in enumerate(("Safety rules.", "Safety at sea.", "Nothing about it.")):
        base.index_documents([Document(uri=f"{number}.txt", title=f"{number}", text=text)])
    answer = base.ask("What do the documents say about safety?")
    assert {citation.quote for citation in answer.citations} == {"Safety rules.", "Safety at sea."}


def test_a_filter_holds_for_overviews_and_counts(station):
    filters = {"title": "Travel policy"}
    for question in ("What are these documents about?", "How many documents mention storms?"):
        answer = station.ask(question, filters=filters)
        assert {citation.title for citation in answer.citations} == {"Travel policy"}
    assert "of 1 document" in answer.text


def themes(answer):
    return [piece for piece in answer.pieces if piece.kind == "theme"]


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("What are the top 3 themes in the data?", 3),
        ("top two topics", 2),
        ("数据中的前3个主题是什么？", 3),
        ("请列出两个最重要的话题", 2),
    ],
)
def test_as_many_themes_are_listed_as_are_asked_for(station, question, count):
    answer = ask(station, question)
    assert answer.answered
    assert answer.text.splitlines()[-1].startswith(f"{count}. **")
    assert len(themes(answer)) == len(answer.pieces) == count


def test_fewer_themes_than_asked_for_are_said_to_be_all(station):
    answer = ask(station, "What are the top 20 themes?")
    assert len(themes(answer)) < 20
    found = len(themes(answer))
    assert answer.text.startswith(f"Found only {found} of the 20 main themes asked for:")


def test_one_document_has_themes_with_names_of_their_own(tmp_path):
    with knotwork.open("memory:", embedding_model="none") as base:
        (tmp_path / "guide.md").write_text(GUIDE, encoding="utf-8")
        base.index(tmp_path / "guide.md")
        answer = ask(base, "What are the top 3 themes of the document?")
    names = {theme.markdown.split("**")[1] for theme in themes(answer)}
    assert len(names) == 3
    assert "Station guide" not in names


def test_reports_that_were_written_are_the_first_themes(station):
    ask(station, "What are the main themes?")
    held = station.store.capabilities.communities
    last = min(held.communities(held.levels()[0]).values(), key=lambda c: len(c.chunk_ids))
    report = replace(held.reports([last.id])[last.id], title="Life far from land", source="model")
    with station.store.transaction():
        held.put_reports([report])
    for question in ("What is the main theme?", "top 2 themes", "What are these documents about?"):
        assert "**Life far from land**" in themes(ask(station, question))[0].markdown


@pytest.mark.parametrize(
    "question",
    ["What are the top 5 products by revenue?", "What was the theme of the festival?"],
)
def test_a_question_for_something_else_gets_no_themes(station, question):
    assert not themes(station.ask(question))
