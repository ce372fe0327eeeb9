"""Links of documents lead to documents and their parts, in whatever order these come and go."""

import random

import pytest

import knotwork
from knotwork._retrieval.chunk_entities import find_linked_chunks
from knotwork.errors import UnknownName
from knotwork.records import Document

PAGES = {
    "notes/Lantern Array.md": (
        "# Lantern Array\n\nThe array is run by [[Jane Doe|our keeper]]. See "
        "[the setup](../guide/setup.md#power-supply) and section 2.1, and [[Missing Note]].\n\n"
        "## 2.1 Costs\n\nIt costs 4. ^price\n\nAs [the site](https://example.org/x) says."
    ),
    "People/Jane Doe.md": (
        "# Keeper\n\nShe reads [[Lantern Array#2.1 Costs]] and [[lantern array#^price]]."
    ),
    "guide/setup.md": "# Setup\n\n## Power supply\n\nUse 12 volts. See [none](nowhere.md).",
    "site/page.html": (
        "<h1 id=top>Page</h1><p>Read <a href='other.html#deep'>the other page</a> or "
        "<a href='/site/other'>its start</a>.</p>"
    ),
    "site/other.html": "<h1>Other</h1><p>First.</p><table><tr><td id=deep>Deep</td></tr></table>",
}


@pytest.fixture
def pages(tmp_path):
    for name, text in PAGES.items():
        place = tmp_path / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path


@pytest.fixture
def kb(pages):
    with knotwork.open(pages / "index.knot", embedding_model="none") as kb:
        kb.index(pages / "docs")
        yield kb


def led(kb, uri, direction="out"):
    """Return the words of each link, the document that it leads to, and the section there."""
    links = kb.graph.links(f"docs/{uri}", direction=direction)
    return [(link.words, link.document.removeprefix("docs/"), link.section) for link in links]


def test_links_lead_to_documents_and_their_parts(kb):
    assert led(kb, "notes/Lantern Array.md") == [
        ("our keeper", "People/Jane Doe.md", ""),
        ("the setup", "guide/setup.md", "Power supply"),
        ("section 2.1", "notes/Lantern Array.md", "2.1 Costs"),
        ("Missing Note", "", ""),
        ("the site", "", ""),
    ]
    assert led(kb, "People/Jane Doe.md") == [
        ("Lantern Array > 2.1 Costs", "notes/Lantern Array.md", "2.1 Costs"),
        ("lantern array > price", "notes/Lantern Array.md", "2.1 Costs"),
    ]
    assert led(kb, "site/page.html") == [
        ("the other page", "site/other.html", "Other"),
        ("its start", "site/other.html", ""),
    ]


def test_a_part_of_a_document_is_where_it_begins(kb):
    link = kb.graph.links("docs/site/page.html", direction="out")[0]
    (document,) = kb.store.documents.documents([Document(link.document, "").id]).values()
    assert document.text[link.start :] == "Deep"


def test_links_to_a_document_come_from_others(kb):
    assert led(kb, "notes/Lantern Array.md", "in") == [
        ("Lantern Array > 2.1 Costs", "notes/Lantern Array.md", "2.1 Costs"),
        ("lantern array > price", "notes/Lantern Array.md", "2.1 Costs"),
    ]
    assert [link.source for link in kb.graph.links("docs/site/other.html", direction="in")] == [
        "docs/site/page.html",
        "docs/site/page.html",
    ]


def test_dead_links_are_those_to_documents_that_are_not_there(kb):
    assert [(link.words, link.target) for link in kb.graph.dead_links()] == [
        ("none", "docs/guide/nowhere.md"),
        ("Missing Note", "[[missing note]]"),
    ]


def test_links_follow_a_document_that_moves(kb, pages):
    old = pages / "docs" / "People" / "Jane Doe.md"
    new = pages / "docs" / "Staff" / "Jane Doe.md"
    new.parent.mkdir()
    old.rename(new)
    kb.index(pages / "docs")
    assert led(kb, "notes/Lantern Array.md")[0] == ("our keeper", "Staff/Jane Doe.md", "")
    new.unlink()
    kb.index(pages / "docs")
    assert led(kb, "notes/Lantern Array.md")[0] == ("our keeper", "", "")
    assert "[[jane doe]]" in {link.target for link in kb.graph.dead_links()}


def test_links_of_documents_are_edges_in_cypher(kb):
    found = kb.graph.cypher(
        "MATCH (a:Document)-[:LINKS_TO]->(b:Document) RETURN a.uri, b.uri ORDER BY a.uri, b.uri"
    )
    assert [tuple(uri.removeprefix("docs/") for uri in row) for row in found.rows] == [
        ("People/Jane Doe.md", "notes/Lantern Array.md"),
        ("notes/Lantern Array.md", "People/Jane Doe.md"),
        ("notes/Lantern Array.md", "guide/setup.md"),
        ("site/page.html", "site/other.html"),
    ]


def test_a_filter_hides_what_links_lead_to(kb):
    asked = "How many volts does the Lantern Array need?"
    hits = kb.search(asked, filters="path = 'notes' or path = 'People'").hits
    assert {hit.chunk.document_title for hit in hits} <= {"Lantern Array", "Keeper (Jane Doe)"}


def test_an_unknown_document_is_an_error(kb):
    with pytest.raises(UnknownName, match=r"Did you mean `docs/guide/setup.md`"):
        kb.graph.links("docs/guide/setup")


def test_a_linked_passage_answers(kb):
    hits = kb.search("How many volts does the Lantern Array need?", k=3).hits
    assert "Setup" in {hit.chunk.document_title for hit in hits}


def test_equal_names_mean_the_nearest_document(tmp_path):
    for name, text in {
        "a/start.md": "Read [[plan]] and [[b/plan]].",
        "a/x/plan.md": "Near.",
        "b/plan.md": "Far.",
        "b/deep/er/note.md": "Read [[plan]].",
    }.items():
        place = tmp_path / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index(tmp_path / "docs")
        assert [found for _, found, _ in led(kb, "a/start.md")] == ["a/x/plan.md", "b/plan.md"]
        assert [found for _, found, _ in led(kb, "b/deep/er/note.md")] == ["b/plan.md"]


def test_the_order_of_documents_does_not_matter(pages):
    uris = sorted(PAGES)
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(uris)
        with knotwork.open("memory:", embedding_model="none") as kb:
            for uri in uris:
                kb.index(pages / "docs" / uri)
            entries = sorted(entry.uri for entry in kb.documents())
            found.append([(uri, kb.graph.links(uri)) for uri in entries])
    assert found[0] == found[1] == found[2]


def test_a_link_leads_on_to_the_next_passage_of_its_section(tmp_path):
    filler = " ".join(
        f"Line {n} of the table lists another part of the housing." for n in range(40)
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/lantern.md").write_text(
        "# Lantern\n\nThe lantern of the pier is fed as [the feed](feed.md#feed) says."
    )
    (tmp_path / "docs/feed.md").write_text(
        f"# Wiring\n\n{filler}\n\n## Feed\n\n{filler} It takes 48 volts.\n\n## End\n\nDone."
    )
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as kb:
        kb.index(tmp_path / "docs")
        lantern = kb.search("lantern of the pier", k=1).hits[0].chunk
        linked = find_linked_chunks({lantern.id: lantern}, kb.store)[lantern.id]
        texts = [kb.store.documents.chunks([key])[key].text for _, _, key, _ in linked]
    assert [link.is_next for link in linked] == [False, True], texts
    assert "Line 0 of" in texts[0]
    assert "Line 14 of" in texts[1]
    assert "Done." not in texts[1]


def test_a_heading_does_not_lead_to_itself(tmp_path):
    place = tmp_path / "docs" / "a.md"
    place.parent.mkdir()
    place.write_text(
        "# Chapter 7. Costs\n\nSee chapter 8.\n\n# Chapter 8. Gains\n\nAs in chapter 7."
    )
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index(place.parent)
        assert led(kb, "a.md") == [
            ("chapter 8", "a.md", "Chapter 8. Gains"),
            ("chapter 7", "a.md", "Chapter 7. Costs"),
        ]


def links_of(folder, files, uri, direction="out"):
    """Index files, and return the words, the document and the section of each link of one."""
    for name, data in files.items():
        place = folder / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index(folder / "docs")
        return led(kb, uri, direction)


SETUP = "# Setup\n\nAll.\n\n## Power supply\n\nUse 12 volts.\n"
TO_POWER = ("the setup", "setup.md", "Power supply")


@pytest.mark.parametrize(
    ("name", "text", "link"),
    [
        (
            "a.html",
            "<head><base href='guide/'></head><h1>A</h1><p>Read <a href='x.html'>it</a>.",
            ("it", "guide/x.html", ""),
        ),
        ("a.md", 'Read <a class="x" href="setup.md#power-supply">the setup</a>.', TO_POWER),
        ("a.md", "See [it](#vlt).\n\n<a id='vlt'></a>\n## Volts\n\n12.", ("it", "a.md", "Volts")),
        ("a.md", "See [it](#vlt).\n\n## Volts {#vlt .x}\n\n12.", ("it", "a.md", "Volts")),
        ("a.org", "Read [[file:setup.md::*Power supply][the setup]].\n\n* Costs\n4.\n", TO_POWER),
        ("a.org", "See [[*Costs]].\n\n* Costs\n4.\n", ("Costs", "a.org", "Costs")),
        ("a.adoc", "= A\n\nRead xref:setup.md#power-supply[the setup].\n", TO_POWER),
        (
            "a.adoc",
            "= A\n\nSee <<c,the costs>>.\n\n[[c]]\n== Costs\n\n4.\n",
            ("the costs", "a.adoc", "Costs"),
        ),
    ],
)
def test_links_of_every_markup(tmp_path, name, text, link):
    files = {name: text, "setup.md": SETUP, "guide/x.html": "<h1>X</h1><p>Text.</p>"}
    assert link in links_of(tmp_path, files, name)


def test_a_base_on_the_web_is_no_dead_link(tmp_path):
    page = "<head><base href='https://x.org/'></head><h1>A</h1><p>Read <a href='b.html'>it</a>.</p>"
    assert links_of(tmp_path, {"a.html": page}, "a.html") == [("it", "", "")]


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        ("第三章", "第三章 供电"),
        ("3.2节", "3.2 电源"),
        ("第5节", "第五节 费用"),
        ("附录B", "附录B 价格"),
        ("Section 2", "2 Use"),
        ("Annex B", "Annex B Tests"),
        ("Appendix A", "Appendix A: Prices"),
        ("Abschnitt 4.1", "4.1 Last"),
        ("Table 3", "Loads"),
        ("Figure 2", "Pump"),
        ("表1", "负载"),
    ],
)
def test_references_to_numbered_parts(tmp_path, words, heading):
    text = (
        f"# Manual\n\nLook at {words}; it says more.\n\n## 1 Scope\n\nPumps.\n\n## 2 Use\n\nTurn."
        "\n\n## 第三章 供电\n\n12伏。\n\n## 3.2 电源\n\n24伏。\n\n## 第五节 费用\n\n5元。\n\n"
        "## 附录B 价格\n\n9元。\n\n## Annex B Tests\n\nTwice.\n\n## Appendix A: Prices\n\nFive.\n\n"
        "## 4.1 Last\n\nAcht.\n\n## Loads\n\nTable 3: Loads\n\n| A | B |\n| - | - |\n| 1 | 2 |\n\n"
        "## Pump\n\nFigure 2. The pump.\n\n## 负载\n\n表1：负载\n"
    )
    assert links_of(tmp_path, {"a.md": text}, "a.md") == [(words, "a.md", heading)]


@pytest.mark.parametrize(
    "text",
    ["根据《合同法》第三条，如下。", "As Article 3 of the GDPR says.", "A hall of Section 9."],
)
def test_parts_of_other_documents_are_no_links(tmp_path, text):
    assert (
        links_of(tmp_path, {"a.md": f"# A\n\n{text}\n\n## 第三条 期限\n\n三年。\n"}, "a.md") == []
    )


def test_links_from_the_root_of_a_vault(tmp_path):
    files = {
        "notes/deep/a.md": "Read [the setup](guide/setup.md#power-supply) and [it](setup.md).",
        "guide/setup.md": SETUP,
        "setup.md": SETUP,
    }
    assert links_of(tmp_path, files, "notes/deep/a.md") == [
        ("the setup", "guide/setup.md", "Power supply"),
        ("it", "", ""),
    ]
    back = [("the setup", "guide/setup.md", "Power supply")]
    assert links_of(tmp_path, files, "guide/setup.md", "in") == back
    assert links_of(tmp_path, files, "setup.md", "in") == []
