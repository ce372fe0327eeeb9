from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut

from knotwork._extensions.model_indexing.reply_grounding import ChunkText
from knotwork._text.names import normal_form


def chunk_text(text: str, before: str = "Something else stands here.") -> tuple[ChunkText, str]:
    document, chunks = cut("T", before, text)
    return ChunkText(chunks[1]), document.text


def found(text: str, name: str) -> list[str]:
    chunk, whole = chunk_text(text)
    return [whole[span.start : span.end] for span in chunk.find(name)]


@pytest.mark.parametrize(
    ("text", "name", "surfaces"),
    [
        ("Ada saw ADA and ada's cat.", "Ada", ["Ada", "ADA", "ada"]),
        ("Scrooge's nephew came.", "Scrooge's Nephew", ["Scrooge's nephew"]),
        ("the works of J. R. R. Tolkien", "J.R.R. Tolkien", ["J. R. R. Tolkien"]),
        ("the U.S. army", "US", ["U.S"]),
        ("She joined the Beatles.", "The Beatles", ["Beatles"]),
        ("It is in Zürich.", "Zurich", ["Zürich"]),
        ("ＩＢＭ grew.", "IBM", ["ＩＢＭ"]),
        ("Alien is a film.", "Alien (film)", ["Alien"]),
        ("He wrote in C++ and C.", "C", ["C", "C"]),
        ("He wrote in C++ and C.", "C++", ["C++"]),
        ("an Analytical\nEngine", "Analytical Engine", ["Analytical\nEngine"]),
        ("about Ada. Lovelace wrote", "Ada; Lovelace", ["Ada. Lovelace"]),
        ("one, Ada! Lovelace", "Ada Lovelace", []),
        ("of Rochester, New York.", "Rochester, New York", ["Rochester, New York"]),
        ("the adage", "Ada", []),
        ("《紅樓夢》的作者", "红楼梦", ["紅樓夢"]),
        ("北京大學在北京。", "北京大学", ["北京大學"]),
        ("卡尔·马克思写道", "卡尔马克思", ["卡尔·马克思"]),
        ("北京。大学", "北京大学", []),
        ("Paris", "London", []),
        ("Paris", "", []),
        ("Paris", "…", []),
    ],
)
def test_names_are_found_however_they_are_written(text, name, surfaces) -> None:
    assert found(text, name) == surfaces


def test_a_part_refers_to_the_whole_only_as_a_name() -> None:
    chunk, whole = chunk_text("Then Scrooge spoke of the young man. Young was not there.")
    (span,) = chunk.find_part("Ebenezer Scrooge")
    assert whole[span.start : span.end] == "Scrooge"
    assert chunk.find_part("Old Man") == ()
    assert chunk.find_part("Ebenezer Marley") == ()
    assert chunk.find_part("Scrooge") == ()


def test_the_best_sentence_names_both_ends_and_shares_words() -> None:
    text = "Ada met Bob. Ada praised the engine of Bob. Bob slept. Ada left."
    chunk, whole = chunk_text(text)
    ends = (chunk.find("Ada"), chunk.find("Bob"))
    span = chunk.best_sentence(ends, "praised his engine")
    assert span is not None
    assert whole[span.start : span.end] == "Ada praised the engine of Bob."
    assert chunk.best_sentence(((), ()), "praised") is None


NAMES = st.text(st.sampled_from("Aab É.'’-&是北大學学·の12 +#("), min_size=1, max_size=8)


@given(NAMES, NAMES, NAMES)
def test_spans_lie_in_the_chunk_and_do_not_overlap(left: str, name: str, right: str) -> None:
    chunk, _ = chunk_text(f"{left} {name} {right}")
    spans = chunk.find(name)
    span = chunk.chunk.span
    assert all(span.start <= s.start < s.end <= span.end for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


@given(
    st.lists(st.sampled_from(["Ada", "Łódź", "O'Neill", "北京", "Ⅳ", "x2"]), min_size=1, max_size=3)
)
def test_a_name_is_found_in_a_text_that_holds_it(words: list[str]) -> None:
    name = " ".join(words)
    chunk, whole = chunk_text(f"Here, {name}, there.")
    surfaces = {whole[s.start : s.end] for s in chunk.find(name)}
    assert normal_form(name) in {normal_form(surface) for surface in surfaces}
