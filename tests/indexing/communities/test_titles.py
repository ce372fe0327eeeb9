"""Titles of communities: a heading of most of their text, with one detail that sets it apart."""

import pytest
from tests.indexing.communities.worlds import all_documents, make_index

from knotwork._indexing.communities.extractive_reports import (
    ThemeHeading,
    distinctive_names,
    headings_above,
    name_theme,
    names_a_theme,
)
from knotwork.records import Chunk, Document, Entity, Span

NAMES = ["Postfix", "Ada Lovelace"]
PHRASES = ["mail queues", "spam filters", "relay hosts"]


def entities(*named):
    return [Entity(name, name, name.casefold(), type_, 1) for name, type_ in named]


def test_the_deepest_heading_above_most_chunks_names_the_theme_with_a_name_that_sets_it_apart():
    headings = [
        ThemeHeading("11.1. Mail Server", 8, ("Network Services",)),
        ThemeHeading("Printing", 1),
    ]
    headings.append(ThemeHeading("Network Services", 9))
    title = "Network Services: Mail Server (Postfix)"
    assert name_theme(headings, 10, NAMES, PHRASES) == title


def test_headings_below_come_before_names():
    headings = [
        ThemeHeading("Mail Servers of the Harbour", 10),
        ThemeHeading("Queues", 3, ("Mail Servers of the Harbour",)),
        ThemeHeading("Relaying", 3, ("Mail Servers of the Harbour",)),
    ]
    title = "Mail Servers of the Harbour (Queues)"
    assert name_theme(headings, 10, NAMES, PHRASES) == title


def test_two_headings_name_it_together():
    headings = [ThemeHeading("Storage", 3), ThemeHeading("Backup", 3), ThemeHeading("Printing", 1)]
    assert name_theme(headings, 10, NAMES, PHRASES) == "Backup and Storage"
    headings = [ThemeHeading("Storage, Disks", 3), ThemeHeading("Backup", 3)]
    assert name_theme(headings, 10, NAMES, PHRASES) == "Backup"
    headings = [ThemeHeading("存储", 3), ThemeHeading("备份", 3)]
    assert name_theme(headings, 10, NAMES, PHRASES) == "备份与存储"


@pytest.mark.parametrize(
    ("heading", "above", "title"),
    [
        ("Cause", ("Report on Storm Ondine",), "Report on Storm Ondine: Cause"),
        ("3.2. Cause", ("Report on Storm Ondine", "Notes"), "Report on Storm Ondine: Cause"),
        ("Care", ("Report on Storm Ondine", "Buoys"), "Report on Storm Ondine: Care"),
        ("第一章 审批", ("差旅管理办法",), "差旅管理办法：审批"),
        ("工具", ("编译 Linux 内核",), "编译 Linux 内核：工具"),
        ("Loss of the Mooring Chain", ("Report on Storm Ondine",), "Loss of the Mooring Chain"),
        ("Creating a new profile", ("AppArmor",), "AppArmor: Creating a new profile"),
        ("创建新的配置文件", ("AppArmor 简介",), "AppArmor 简介：创建新的配置文件"),
        ("The pg_locks View", ("System Views",), "The pg_locks View"),
        ("PPTP", ("Virtual Private Network",), "PPTP"),
        ("Cause", (), "Cause"),
        ("Cause", ("notes.txt",), "Cause"),
        ("Cause", ("Storm " * 15,), "Cause"),
    ],
)
def test_a_heading_that_says_little_follows_the_one_above_it(heading, above, title):
    assert name_theme([ThemeHeading(heading, 1, above)], 1, [], []) == title


def test_a_name_stands_in_brackets_of_the_language_and_adds_words():
    assert name_theme([ThemeHeading("虚拟化", 4)], 4, ["Xen", "KVM"], []) == "虚拟化（Xen）"
    assert name_theme([ThemeHeading("Xen Hosts", 4)], 4, ["Xen", "KVM"], []) == "Xen Hosts (KVM)"


@pytest.mark.parametrize("name", ["DEBUG 1", "--term-old", "main.cf", "bisect(1)"])
def test_a_name_of_code_sets_no_title_apart(name):
    assert name_theme([ThemeHeading("Mail Servers of Kelp", 4)], 4, [name], []) == (
        "Mail Servers of Kelp"
    )


def test_an_image_in_a_heading_is_no_part_of_the_title():
    heading = ThemeHeading("![logo](logo.png) [Mail Servers](mail.md) of Kelp ¶", 4)
    assert name_theme([heading], 4, [], []) == "Mail Servers of Kelp"


def test_headings_that_any_text_has_name_nothing_unless_there_is_nothing_else():
    headings = [
        ThemeHeading("Description", 3),
        ThemeHeading("参考资料", 3),
        ThemeHeading("notes.txt", 3),
    ]
    assert name_theme(headings, 10, NAMES, PHRASES) == "Postfix and Ada Lovelace"
    assert (
        name_theme([ThemeHeading("Acknowledgments", 9)], 10, ["Ada"], []) == "Acknowledgments (Ada)"
    )


def test_a_file_name_names_no_theme_among_others():
    headings = [ThemeHeading("staff", 2), ThemeHeading("Harbour Office", 2)]
    assert name_theme(headings, 4, ["Ada"], []) == "Harbour Office (Ada)"
    assert name_theme(headings[:1], 2, ["Ada"], []) == "staff (Ada)"


@pytest.mark.parametrize(
    "title", ["Relays/Queues", "Node.js", "The sources.list File", "群组清单：/etc/group"]
)
def test_a_heading_with_a_sign_of_file_names_is_no_file(title):
    assert names_a_theme(title)
    assert name_theme([ThemeHeading(title, 2)], 2, [], []) == title


@pytest.mark.parametrize(
    "title",
    [
        *("", "…", "Summary", "3. Overview", "Cause", "工具", "notes.txt", "/etc/group"),
        *("IMG_0423", "2024-03", "[![Build](build.svg)](https://example.org)", "![](logo.png)"),
    ],
)
def test_titles_that_name_no_theme(title):
    assert not names_a_theme(title)


def test_names_and_phrases_are_left_where_there_is_nothing_else():
    assert name_theme([], 0, NAMES, []) == "Postfix and Ada Lovelace"
    assert name_theme([], 0, ["Ada"], ["Ada Lovelace", "spam"]) == "Ada"
    assert name_theme([], 0, [], []) == ""


def test_telling_names_are_written_in_the_text_and_name_something():
    offered = entities(
        ("Column Type Description", ""),
        ("2020", "DATE"),
        ("main.cf", "FILE"),
        ("queue", "COMMAND"),
        ("Readings", ""),
        ("Sendmail", ""),
        ("mail server", "KEYWORD"),
        ("Postfix", ""),
        ("RE", "TERM"),
        ("pg_locks", "TABLE"),
    )
    text = [
        "Column Type Description 2020 main.cf queue.",
        "Readings of Postfix and pg_locks, readings.",
    ]
    assert distinctive_names(offered, [*text, "RESTART the mail server."]) == [
        "Postfix",
        "pg_locks",
    ]
    assert distinctive_names(offered, [*text, "Postfix again."]) == ["Postfix"]


def test_common_chinese_words_are_no_telling_names():
    offered = entities(("软件包", "TERM"), ("北京", "PLACE"), ("加密协议", ""))
    assert distinctive_names(offered, ["北京的软件包使用加密协议。"]) == ["北京", "加密协议"]


def test_headings_are_counted_with_the_headings_above_them():
    paths = [("Moorings",), ("Moorings", "Ropes"), ("Lights",), (), ("Harbour", "Lights")]
    chunks = [
        Chunk(str(i), "d", "s", i, Span(i, i + 1), "x", document_title="Harbour", headings=path)
        for i, path in enumerate(paths)
    ]
    assert headings_above(chunks) == (
        ThemeHeading("Harbour", 5),
        ThemeHeading("Lights", 2, ("Harbour",)),
        ThemeHeading("Moorings", 2, ("Harbour",)),
        ThemeHeading("Ropes", 1, ("Harbour", "Moorings")),
    )


def test_communities_of_headed_documents_are_named_after_headings():
    text = (
        "# Harbour\n\nCaptain Ferris moors boats at Alden Pier. Captain Ferris and Mara Quill keep "
        "the ropes of Alden Pier. Mara Quill lights Gull Lighthouse. Gull Lighthouse warns Captain "
        "Ferris and Mara Quill."
    )
    base = make_index([Document("harbour.md", text, "Harbour", "text/markdown")])
    titles = {topic.report.title for topic in base.communities.list()}
    assert "Harbour (Captain Ferris)" in titles
    assert all(title.startswith("Harbour") for title in titles)


def test_the_report_changes_with_the_headings_it_is_named_after():
    base, other = (
        make_index([Document(d.uri, d.text, title) for d in all_documents()])
        for title in ("Harbour log", "Kitchen log")
    )
    keys = [{t.report.content_key for t in b.communities.list()} for b in (base, other)]
    assert not keys[0] & keys[1]
