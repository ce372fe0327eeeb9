"""Leads, titles and lists of an overview, asked at the door in English and Chinese."""

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork.records import Document

pytestmark = pytest.mark.slow

HOUSE = """# House rules of Elder Yard

Version 4, adopted by the meeting of 2 May.

By Ines Marrow

![The yard in spring](yard.png)

https://elder.example/rules

These rules apply to all tenants of Elder Yard and to their guests. They are short on purpose.

## 1 Quiet

Between ten at night and six in the morning nobody plays music in the yard.

## 2 Bicycles

### Cellar

Bicycles are kept in the cellar, where each flat has two hooks.

### Repairs

Repairs are made on the bench behind the cellar door.

## 3 Waste

Glass is collected on the first Monday of each month.
"""
LEASE = """---
permalink: /notes/leases/青禾公寓租赁合同/
---
2024-11-02

出租方：青禾公司（以下称甲方）。本合同适用于青禾公寓的全部房屋及其附属设施。

## 第一条 租金

租金按月支付，每月五日以前到账。

## 第二条 押金

押金为一个月的租金，退房后七日内退还。

## 第三条 维修

房屋漏水由甲方负责维修，费用由甲方承担。
"""
SOUPS = """# Soup book

Recipes from the soup van of Merrow Street, six litres each.

## Abstract

This book collects the soups that are cooked on the van every week.

## The soups

### Lentil

Soften the onions in oil for a quarter of an hour.

### Pea

Sweat the leeks and add the peas with cold stock.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """An index of three documents."""
    folder = tmp_path_factory.mktemp("docs")
    for name, text in {"house.md": HOUSE, "02-lease.txt": LEASE, "soups.md": SOUPS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index(folder)
        yield base


def ask(base, question):
    answer = base.ask(question)
    check_citations(base, answer)
    return answer


def lines(answer):
    return [line.removeprefix("- ") for line in answer.text.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize("question", ["Summarize these documents", "总结这些文档的主要内容"])
def test_each_document_has_its_title_and_what_it_says_of_itself(shelf, question):
    answer = ask(shelf, question)
    texts = dict(line.removeprefix("**").split("**", 1) for line in lines(answer)[:3])
    assert texts.keys() == {"House rules of Elder Yard", "青禾公寓租赁合同", "Soup book"}
    assert "These rules apply to all tenants" in texts["House rules of Elder Yard"]
    assert "本合同适用于青禾公寓的全部房屋" in texts["青禾公寓租赁合同"]
    assert "This book collects the soups" in texts["Soup book"]
    assert [piece.kind for piece in answer.pieces[:3]] == ["document"] * 3
    for unwanted in ("Version 4", "Ines Marrow", "spring", "https", "heading", "02-lease", "甲方"):
        assert unwanted not in answer.text.split("Main themes")[0].split("主要主题")[0]


@pytest.mark.parametrize(
    ("question", "title", "statement"),
    [
        ("Summarize section 2 of the house rules", "Bicycles", "each flat has two hooks"),
        ("What is the third section of the house rules about?", "Waste", "Glass is collected"),
        ("租赁合同第三条说了什么？", "第三条 维修", "房屋漏水由甲方负责维修"),
        ("总结租赁合同的第二条", "第二条 押金", "押金为一个月的租金"),
    ],
)
def test_a_section_is_named_by_its_number_and_its_document(shelf, question, title, statement):
    answer = ask(shelf, question)
    assert title in answer.text.split("\n")[0]
    assert statement in answer.text
    assert len({citation.document for citation in answer.citations}) == 1


def test_a_number_without_a_document_means_the_sections_of_all(shelf):
    answer = ask(shelf, "Summarize section 1")
    assert "nobody plays music" in answer.text
    assert "租金按月支付" in answer.text


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("How many documents are there?", ["House rules of Elder Yard", "Soup book"]),
        ("一共有多少篇文章？", ["House rules of Elder Yard", "Soup book"]),
        ("List all chapters of the house rules", ["1 Quiet", "2 Bicycles", "3 Waste"]),
        ("租赁合同有多少条？", ["第一条 租金", "第二条 押金", "第三条 维修"]),
        ("List all soups in the soup book", ["Lentil", "Pea"]),
    ],
)
def test_titles_are_listed_counted_and_cited(shelf, question, titles):
    answer = ask(shelf, question)
    assert set(titles) <= {line.rpartition("[")[0].strip() for line in lines(answer)}
    assert str(len(lines(answer))) in answer.text.split("\n")[0]
    assert len(answer.citations) == len(answer.pieces) == len(lines(answer))
    assert answer.confidence is None


def test_a_named_section_alone_is_quoted_on_a_subject(shelf):
    answer = ask(shelf, "What does the section on bicycles say about repairs?")
    assert "bench behind the cellar door" in answer.text
    assert "music" not in answer.text
    chinese = ask(shelf, "租赁合同里关于押金说了什么？")
    assert "退房后七日内退还" in chinese.text
    assert "漏水" not in chinese.text


def test_the_subsections_of_a_section_are_named(shelf):
    answer = ask(shelf, "Summarize the house rules")
    assert any(line.startswith("**2 Bicycles** (Cellar; Repairs): ") for line in lines(answer))


def test_a_book_of_many_documents_is_summarised_by_its_front_page_and_chapters():
    pages = {
        f"{chapter}-{section}.md": f"# {chapter}.{section}. Page {section} of part {chapter}\n\n"
        f"Engine {chapter}{section} drives the pumps of the mill on every working day."
        for chapter in range(1, 5)
        for section in range(1, 6)
    }
    heads = {
        f"{chapter}.md": f"# Chapter {chapter}. Engines of kind {chapter}\n\n"
        f"Engines of kind {chapter} were built for the mills of the river."
        for chapter in range(1, 5)
    }
    front = {"index.md": "# Mill book\n\nThis book describes the engines of the river mills."}
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index_documents([Document(u, t) for u, t in (pages | heads | front).items()])
        answer = ask(base, "What are these documents about?")
    assert answer.text.startswith("25 documents:")
    assert "This book describes the engines" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Summarize these documents",
        "总结这些文档",
        "Summarize odd.md",
        "Summarize section 1 of odd.md",
        "List all documents",
        "odd.md有多少章？",
        "What does odd.md say about pears?",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "| name | price |\n| --- | --- |\n| pear | 4 |\n| plum | 5 |\n",
        "- [pears](https://pears.example)\n- [plums](https://plums.example)\n",
        "# Pears\n\n# Plums\n\n# Pears\n",
        "```python\nprint('pears')\n```\n",
        "![a picture of pears](pears.png)\n",
        "# 1 " + "pears " * 400,
    ],
)
def test_documents_without_prose_are_no_error(tmp_path, question, text):
    (tmp_path / "odd.md").write_text(text, encoding="utf-8")
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index(tmp_path)
        answer = ask(base, question)
    assert answer.text
    assert "https://" not in answer.text
    assert " 0 " not in answer.text
