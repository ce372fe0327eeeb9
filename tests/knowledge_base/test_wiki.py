"""An exported wiki has a page for each document, entity and topic, and no link of it is dead."""

import json
import re
import unicodedata
from importlib.resources import files

import pytest

import knotwork
from knotwork._extensions.graphs import wiki
from knotwork._extensions.graphs.wiki import MANIFEST, file_names
from knotwork.errors import StoreError
from knotwork.records import Block, BlockKind, Document, Page, Span

LINK = re.compile(r"(?<!\\)\[\[([^\]|#]*)(?:#([^\]|]*))?\|([^\]]*)\]\]")
NOT_IN_LINKS = re.compile(r"[|#^\[\]%\\]+")


def pages_of(folder):
    """Return the text of each page by its path."""
    found = sorted(folder.rglob("*.md"))
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def dead_links(pages):
    """Return the links that lead to no page, or to no heading of it, as Obsidian resolves them."""
    headings = {
        name: {" ".join(NOT_IN_LINKS.sub(" ", line.lstrip("# ")).split()) for line in lines}
        for name, text in pages.items()
        if (lines := [line for line in text.splitlines() if line.startswith("#")])
    }
    dead = []
    for name, text in pages.items():
        for target, heading, words in LINK.findall(text):
            page = f"{target}.md" if target else name
            if page not in pages or (heading and heading not in headings[page]) or not words:
                dead.append((name, target, heading))
    return dead


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("wiki") / "i.knot"
    with knotwork.open(path, embedding_model="none", index_workers=0) as kb:
        kb.index(str(files("knotwork.demo") / "sample"))
        yield kb


@pytest.fixture
def kb(tmp_path):
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as kb:
        yield kb


def test_the_sample_becomes_a_wiki_without_dead_links(sample, tmp_path):
    report = sample.export_wiki(tmp_path / "wiki")
    pages = pages_of(tmp_path / "wiki")
    assert dead_links(pages) == []
    assert report.documents == 22 == len(list((tmp_path / "wiki/documents").iterdir()))
    assert report.entities > 20
    assert report.topics > 20
    assert len(pages) == 1 + report.documents + report.entities + report.topics
    keld = pages["entities/Oriane Keld.md"]
    assert "- Oriane Keld is an instrument maker. ([[documents/Oriane Keld|Oriane Keld]])" in keld
    assert "*born in* [[entities/Tarnby|Tarnby]]" in keld
    assert "相关内容" in pages["entities/温青岚.md"]
    assert "（[[#合作单位|§]]）" in pages["documents/海雾观测计划.md"]
    assert "### 合作单位" in pages["documents/海雾观测计划.md"]


def test_each_statement_on_an_entity_or_topic_page_links_to_a_document(sample, tmp_path):
    sample.export_wiki(tmp_path)
    for name, text in pages_of(tmp_path).items():
        quoted = text.partition("## Named")[0].partition("## Documents")[0].partition("## 文档")[0]
        for line in quoted.splitlines():
            if line.startswith("- ") and name.startswith(("entities/", "topics/")):
                assert "[[documents/" in line or line.startswith("- [[topics/"), (name, line)


def test_front_matter_is_yaml(sample, tmp_path):
    yaml = pytest.importorskip("yaml")
    sample.export_wiki(tmp_path)
    for name, text in pages_of(tmp_path).items():
        front = yaml.safe_load(text.split("---\n")[1])
        assert front["title"], name


def test_equal_indexes_give_equal_files(sample, tmp_path):
    sample.export_wiki(tmp_path / "one")
    with knotwork.open(tmp_path / "other.knot", embedding_model="none") as other:
        other.index(str(files("knotwork.demo") / "sample"))
        other.export_wiki(tmp_path / "other")
    assert pages_of(tmp_path / "one") == pages_of(tmp_path / "other")


@pytest.mark.parametrize(
    "titles",
    [
        ["../../etc/passwd", "..\\..\\evil", "/root", "C:\\x", "~/x", ".hidden", "...", "-rf"],
        ["CON", "con", "Aux.txt", "nul ", "NUL .md", "com1", "LPT9.a.b", "COM¹", "console"],
        ["Readme", "README", "readme", "ReadMe "],
        ["é", "e\u0301", "É", "ﬁ", "fi", "ẞ", "ss"],
        ["a|b", "[[x]]", "x#y", "a^b", 'a:b?*<>"', "\x00\x1b[31m", "\u202eexe.md", "%%x%%"],
        ["长" * 300, "长" * 301, "x" * 4000, "\ud800", "\U0001f426" * 99, "", " ", "?"],
    ],
)
def test_file_names_are_safe_on_all_systems(titles):
    found = file_names({f"{number:016x}": title for number, title in enumerate(titles)})
    folded = {unicodedata.normalize("NFKC", name).casefold() for name in found.values()}
    assert len(folded) == len(titles)
    for name in found.values():
        assert 0 < len(name.encode()) <= 140
        assert not re.search(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\u202e]', name)
        assert name == name.strip(" .")
        assert not name.startswith("-")
        assert not re.fullmatch(
            r"(con|prn|aux|nul|com[0-9¹]|lpt[0-9])\s*(\..*)?", name, re.IGNORECASE
        )


def test_hostile_titles_uris_and_texts_stay_inside_and_inactive(kb, tmp_path):
    text = (
        "<script>alert(1)</script> Zorn Vale met [[secret]] and ![[file]] near #tag %%note%%.\n\n"
        "Zorn Vale left the harbour before the storm began in the evening."
    )
    names = ["../../x", "CON", "con", "a|b]] [[c", "x" * 900, "evil\n# Heading\n---\nkey: 1"]
    kb.index_documents(
        Document(uri=f"../../../{number}/{name}", text=text, title=name)
        for number, name in enumerate(names)
    )
    report = kb.export_wiki(tmp_path / "out" / "wiki")
    pages = pages_of(tmp_path / "out" / "wiki")
    assert report.documents == len(names)
    assert dead_links(pages) == []
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["wiki"]
    for page in pages.values():
        assert not re.search(
            r"(?<!\\)<script|(?<![\\\[])\[\[secret|(?<!\\)!\[\[|\s#tag|(?<!\\)%%n", page
        )
        assert "\n# Heading" not in page


def test_documents_that_link_to_each_other_show_it(kb, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# Alpha\n\nRead [the other page](b.md) first.")
    (tmp_path / "docs/b.md").write_text("# Beta\n\nThis page is read first by everybody.")
    kb.index(tmp_path / "docs")
    kb.export_wiki(tmp_path / "wiki")
    pages = pages_of(tmp_path / "wiki")
    assert "## Links to\n\n- [[documents/Beta|Beta]]" in pages["documents/Alpha.md"]
    assert "## Linked from\n\n- [[documents/Alpha|Alpha]]" in pages["documents/Beta.md"]


def test_a_heading_that_occurs_twice_or_is_ours_has_its_own_link(kb, tmp_path):
    parts = {"Notes": "pump", "Notes ": "valve", "Sections": "drain"}
    written = (f"## {k}\n\nZorn Vale wrote on the {v} in spring." for k, v in parts.items())
    text = "\n\n".join(["# Manual\n\nThe pump is cleaned by hand every week.", *written])
    (tmp_path / "m.md").write_text(text)
    kb.index(tmp_path / "m.md")
    kb.export_wiki(tmp_path / "wiki")
    pages = pages_of(tmp_path / "wiki")
    assert dead_links(pages) == []
    manual = pages["documents/Manual.md"]
    headings = [line for line in manual.splitlines() if line.startswith("###")]
    assert headings == ["### Notes", "### Notes (2)", "### Sections (2)"]


def test_only_entities_worth_a_page_have_one(kb, tmp_path):
    text = "Zorn Vale met Tilda Marsh in the harbour.\n\n{}Zorn Vale stayed."
    kb.index_documents(Document(uri=f"{number}.txt", text=text.format("")) for number in range(2))
    kb.index_documents([Document(uri="once.txt", text="Bertil Ohm came by.\n\nThe sea was calm.")])
    kb.export_wiki(tmp_path / "wiki")
    pages = pages_of(tmp_path / "wiki")
    assert {"entities/Zorn Vale.md", "entities/Tilda Marsh.md"} <= pages.keys()
    assert "entities/Bertil Ohm.md" not in pages
    keywords = {e.name for e in kb.store.graph.find(label="Keyword", limit=999)}
    assert not keywords & {name[9:-3] for name in pages if name.startswith("entities/")}


def test_the_number_of_pages_is_bounded(sample, tmp_path, monkeypatch):
    monkeypatch.setattr(wiki, "MOST_ENTITIES", 3)
    monkeypatch.setattr(wiki, "MOST_TOPICS", 2)
    monkeypatch.setattr(wiki, "_MOST_LISTED", 5)
    report = sample.export_wiki(tmp_path)
    assert (report.entities, report.topics) == (3, 2)
    assert dead_links(pages_of(tmp_path)) == []
    assert "… and 17 more in this folder" in (tmp_path / "index.md").read_text()


def test_a_filter_exports_only_what_it_shows(kb, tmp_path):
    kb.index_documents(
        Document(uri=f"{name}.txt", text=f"Zorn Vale wrote the {name} plan for the harbour.")
        for name in ("open", "secret", "public")
    )
    kb.export_wiki(tmp_path / "wiki", filters="uri != 'secret.txt'")
    pages = pages_of(tmp_path / "wiki")
    assert "documents/open.txt.md" in pages
    assert not [name for name, page in pages.items() if "secret" in page.casefold() + name]


def test_a_filter_by_page_hides_the_other_pages_of_a_document(kb, tmp_path):
    opened = " ".join(f"Zorn Vale wrote note {n} in spring." for n in range(90))
    hidden = " ".join(f"Tilda Marsh hid note {n} in autumn." for n in range(90))
    parts = [f"# Open part\n\n{opened}\n\n", f"# Hidden part\n\n{hidden}"]
    blocks = (
        Block(BlockKind.SECTION, Span(0, len(parts[0])), "Open part", level=1),
        Block(BlockKind.SECTION, Span(len(parts[0]), len("".join(parts))), "Hidden part", level=1),
    )
    pages = (Page("1", 0), Page("2", len(parts[0])))
    kb.index_documents([Document(uri="d.pdf", text="".join(parts), blocks=blocks, pages=pages)])
    kb.export_wiki(tmp_path / "wiki", filters="page = 1")
    shown = pages_of(tmp_path / "wiki")
    assert "Open part" in shown["documents/d.pdf.md"] or "spring" in shown["documents/d.pdf.md"]
    assert not [name for name, page in shown.items() if re.search("Hidden|Tilda", page)]


def test_a_folder_with_other_files_is_refused_unless_forced(sample, tmp_path):
    (tmp_path / "documents").mkdir()
    note = tmp_path / "documents" / "staff.md"
    note.write_text("mine")
    with pytest.raises(StoreError, match="exists already") as caught:
        sample.export_wiki(tmp_path)
    assert "--force" in caught.value.fix
    assert [path.name for path in tmp_path.iterdir()] == ["documents"]
    with pytest.raises(StoreError):
        sample.export_wiki(note)
    sample.export_wiki(tmp_path, overwrite=True)
    assert note.read_text() != "mine"


def test_the_next_export_updates_its_own_pages_only(kb, tmp_path):
    docs = [Document(uri=f"{name}.txt", text=f"The {name} plan is old.") for name in ("one", "two")]
    kb.index_documents(docs)
    folder = tmp_path / "wiki"
    kb.export_wiki(folder)
    (folder / "my note.md").write_text("mine")
    (folder / ".obsidian").mkdir()
    kb.delete("two.txt")
    kb.index_documents([Document(uri="three.txt", text="The three plan is new.")])
    (folder / "documents" / "three.txt.md").write_text("mine")
    with pytest.raises(StoreError, match=r"three\.txt\.md"):
        kb.export_wiki(folder)
    assert (folder / "documents/two.txt.md").exists()
    (folder / "documents/three.txt.md").unlink()
    assert kb.export_wiki(folder).removed == 2  # the document and its topic
    left = sorted(path.name for path in folder.rglob("*.md"))
    assert (
        left[:5] == ["index.md", "my note.md", "one.txt.md", "three.txt.md", left[4]]
        or "two.md" not in left
    )
    assert "two.txt.md" not in left
    assert (folder / "my note.md").read_text() == "mine"


def test_a_changed_list_of_pages_cannot_remove_other_files(kb, tmp_path):
    kb.index_documents([Document(uri="one.txt", text="The plan is old.")])
    folder = tmp_path / "wiki"
    kb.export_wiki(folder)
    victim = tmp_path / "victim.md"
    victim.write_text("mine")
    strange = ["../victim.md", "documents/../../victim.md", str(victim), "/etc/x.md", 5]
    (folder / MANIFEST).write_text(json.dumps({"files": strange[:4]}))
    kb.export_wiki(folder, overwrite=True)
    assert victim.read_text() == "mine"
    (folder / MANIFEST).write_text(json.dumps({"files": strange}))
    kb.export_wiki(folder, overwrite=True)
    assert victim.exists()


def test_an_empty_index_has_an_index_page(kb, tmp_path):
    report = kb.export_wiki(tmp_path / "wiki")
    assert (report.documents, report.entities, report.topics) == (0, 0, 0)
    assert (tmp_path / "wiki/index.md").exists()
