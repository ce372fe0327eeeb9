"""Titles of communities: headings of most of their text, and phrases where none covers enough."""

from tests.indexing.communities.worlds import all_documents, make_index

from knotwork.indexing.communities.titles import (
    Heading,
    headings_above,
    name_theme,
)
from knotwork.records import Document

NAMES = ["Postfix", "Ada Lovelace"]
PHRASES = ["mail queues", "spam filters", "relay hosts"]


def test_a_heading_above_most_chunks_names_the_theme():
    headings = [Heading("11.1. Mail Server", 8, 1), Heading("Network Services", 9, 0)]
    assert name_theme(headings, 10, NAMES, PHRASES) == ("Mail Server",)


def test_two_headings_name_it_together():
    headings = [Heading("Storage", 3, 1), Heading("Backup", 3, 1), Heading("Printing", 1, 1)]
    assert name_theme(headings, 10, NAMES, PHRASES) == ("Backup", "Storage")


def test_headings_that_any_text_has_name_nothing():
    headings = [Heading("Description", 9, 1), Heading("参考资料", 8, 1), Heading("notes.txt", 9, 0)]
    assert name_theme(headings, 10, NAMES, PHRASES) == ("Postfix", "mail queues", "spam filters")


def test_names_are_left_where_there_is_nothing_else():
    assert name_theme([], 0, NAMES, []) == ("Postfix", "Ada Lovelace")
    assert name_theme([], 0, ["Overview"], []) == ("Overview",)
    assert name_theme([], 0, [], []) == ()


def test_communities_of_headed_documents_are_named_after_headings():
    text = (
        "# Harbour\n\n## Moorings\n\nCaptain Ferris moors boats at Alden Pier. Captain Ferris and "
        "Mara Quill keep the ropes of Alden Pier.\n\n## Lights\n\nMara Quill lights Gull "
        "Lighthouse. Gull Lighthouse warns Captain Ferris and Mara Quill."
    )
    base = make_index([Document("harbour.md", text, "Harbour", "text/markdown")])
    chunks = base.store.documents.chunks(
        [c for d in base.store.documents.document_ids() for c in base.store.documents.chunk_ids(d)]
    )
    assert headings_above(chunks.values())[0].title == "Harbour"
    assert {topic.report.title for topic in base.communities()} == {"Harbour"}


def test_the_report_changes_with_the_headings_it_is_named_after():
    base, other = (
        make_index([Document(d.uri, d.text, title) for d in all_documents()])
        for title in ("Harbour log", "Kitchen log")
    )
    keys = [{t.report.content_key for t in b.communities()} for b in (base, other)]
    assert not keys[0] & keys[1]
