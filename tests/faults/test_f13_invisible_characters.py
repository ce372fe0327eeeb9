"""Words with invisible characters or decomposed letters are read as they look."""

import json
import unicodedata

import pytest

import knotwork
from knotwork.records import Block, BlockKind, Document, Page, Span

from .small_files import index_of, read

TEXT = (
    "The pi·lot sta·tion opens at six. Ada Lind·qvist manages Rosen·berg Har·bour. "
    "Käthe Müller works for Grünwerk GmbH. Nguyễn Thị Hồ works for Đà Nẵng Port."
)
PLAIN = TEXT.replace("·", "")
NAMES = ["Ada Lindqvist", "Grünwerk GmbH", "Käthe Müller", "Nguyễn Thị Hồ", "Rosenberg Harbour"]
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2063\u2066\u180e\ufeff\ufe00"


def names_and_relations(kb):
    names = kb.graph.cypher("MATCH (e:Entity) RETURN e.name").rows
    related = kb.graph.cypher("MATCH (a:Entity)-[:RELATES]->(b) RETURN a.name, b.name").rows
    return sorted(row[0] for row in names), sorted(map(tuple, related))


@pytest.mark.parametrize("mark", INVISIBLE)
def test_invisible_characters_are_left_out_in_every_format(mark):
    text = TEXT.replace("·", mark)
    files = {
        "a.txt": text,
        "a.md": text,
        "a.html": f"<p>{text}</p>",
        "a.json": json.dumps({"text": text}),
        "a.csv": f"text,number\n{text},1\nmore,2\n",
    }
    for name, data in files.items():
        assert PLAIN in read(name, data).text


def test_entities_of_the_html_entity_and_of_a_wrapped_word():
    assert read("a.html", "<p>pi&shy;lot</p>").text == "pilot"
    assert read("a.txt", "The pi\u00ad\nlot is here.").text == "The pilot is here."


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧",
        "1\ufe0f\u20e3",
        "❤\ufe0f",
        "🏴\U000e0067\U000e0062\U000e007f",
        "ภาษา\u200bไทย",
        "ｱﾞ Ａ ﬁ ①",
    ],
)
def test_characters_with_a_meaning_are_kept(text):
    assert read("a.txt", f"{text} is here.").text == f"{text} is here."


@pytest.mark.parametrize("form", ["NFD", "NFC"])
def test_decomposed_text_has_the_same_graph_and_answers(tmp_path, form):
    data = unicodedata.normalize(form, TEXT.replace("·", "\u00ad" if form == "NFD" else ""))
    with index_of(tmp_path, {"a.txt": data}) as kb:
        names, related = names_and_relations(kb)
        assert set(NAMES) <= set(names)
        assert ("Käthe Müller", "Grünwerk GmbH") in related
        for question in ("Who works for Grünwerk GmbH?", "When does the pilot sta\u00adtion open?"):
            answers = {
                kb.ask(unicodedata.normalize(asked, question)).text for asked in ("NFC", "NFD")
            }
            assert len(answers) == 1


def test_hangul_and_letters_without_a_composed_form(tmp_path):
    assert read("a.txt", unicodedata.normalize("NFD", "서울 항구")).text == "서울 항구"
    with index_of(tmp_path, {"a.txt": "Ada met M\u0302argit Q\u0303osta in Ulm."}) as kb:
        assert "M\u0302argit Q\u0303osta" in names_and_relations(kb)[0]


def test_offsets_of_given_documents_match_the_stored_text(tmp_path):
    text = "Mu\u0308l\u00adler\n\nThe gate is open. Ka\u0308the has the key."
    start = text.index("The")
    document = Document(
        "notes",
        text,
        blocks=(Block(BlockKind.SECTION, Span(0, start - 2), "Müller", level=1),),
        pages=(Page("1", 0), Page("2", start)),
    )
    with knotwork.open(tmp_path / "index.knot") as kb:
        kb.index_documents([document])
        assert kb.index_documents([document]).unchanged == 1
        stored = kb.document("notes")
        assert stored.text == "Müller\n\nThe gate is open. Käthe has the key."
        assert stored.blocks[0].span == Span(0, 6)
        assert stored.pages[1].start == 8
        hit = kb.search("Ka\u0308the").hits[0]
        assert stored.text[hit.chunk.span.start : hit.chunk.span.end] == hit.chunk.text


def test_filters_and_names_ignore_them(tmp_path):
    with index_of(
        tmp_path, {"a.md": "---\nauthor: Mu\u0308l\u00adler\n---\nThe gate is open."}
    ) as kb:
        for author in ("Müller", "Mu\u0308ller", "Mül\u200bler"):
            assert kb.search("gate", filters={"author": author}).hits
