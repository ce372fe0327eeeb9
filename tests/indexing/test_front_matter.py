"""Front matter becomes metadata and is no text; what cannot be read as such stays."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.splitters import SPLITTERS, make_splitter
from knotwork._text.visible import visible_text

BODY = "# Travel\n\nTrips abroad are approved by the Travel Office.\n"
YAML = "---\ntitle: Handbook\nauthor: Ada\ndraft: false\nparams:\n  site: {lang: en}\n---\n"
TOML = (
    '+++\ntitle = "Handbook"\nauthor = "Ada"\ndraft = false\ndate = 2024-01-31\n'
    'at = 2024-01-31T10:00:00Z\n[params.site]\nlang = "en"\n'
    '[[by]]\nname = "A"\n[[by]]\nname = "B"\n+++\n'
)


def load(text):
    return load_file(text.encode(), uri="docs/a.md")


@pytest.mark.parametrize("front", [YAML, TOML, YAML.replace("\n---\n", "\n...  \n")])
def test_it_is_metadata_and_no_text(front):
    document = load(front + BODY)
    assert document.title == "Handbook"
    assert document.metadata["author"] == "Ada"
    assert document.metadata["draft"] == "false"
    assert document.metadata["params.site.lang"] == "en"
    assert document.text.strip() == BODY.strip()


def test_toml_dates_and_tables_are_kept():
    metadata = load(TOML + BODY).metadata
    assert metadata["date"] == "2024-01-31"
    assert metadata["at"] == "2024-01-31T10:00:00+00:00"
    assert metadata["by.name"] == "A, B"


@pytest.mark.parametrize("front", [YAML, TOML])
@pytest.mark.parametrize("splitter", SPLITTERS.names(plugins=False))
def test_the_chunks_have_the_body_alone(front, splitter):
    document = load(front + BODY)
    _, chunks = make_splitter(splitter).split(document)
    cited = [document.text[start:end] for chunk in chunks for start, end in chunk.sentences]
    assert set(cited) == {"Travel", "Trips abroad are approved by the Travel Office."}
    for chunk in chunks:
        assert document.text[chunk.span.start : chunk.span.end] == chunk.text


@pytest.mark.parametrize("name", ["a.txt", "a.markdown"])
def test_it_is_read_whatever_the_suffix(name):
    document = load_file((YAML + BODY).encode(), uri=name)
    assert (document.title, document.metadata["author"]) == ("Handbook", "Ada")
    assert document.text == BODY.strip()


def words(text):
    return re.findall(r"\w+", text)


@pytest.mark.parametrize(
    "front",
    [
        "---\n: [broken\n---\n",
        "---\n- a list\n- is no mapping\n---\n",
        "---\nJust a line between two rules\n---\n",
        "---\ntitle: has no end\n",
        "+++\ntitle = unquoted\n+++\n",
        "+++\ntitle = 'has no end'\n",
        "\n---\ntitle: not at the top\n---\n",
        "+++\ntitle: of the other kind\n---\n",
    ],
)
def test_unreadable_expressions_stay_in_the_text(front):
    document = load(front + BODY)
    assert words(document.text) == words(front + BODY)
    assert document.metadata == {}


def test_values_that_unfold_to_too_much_stay_in_the_text():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
    )
    empty = "a: &a []\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
    )
    hollow = "a0: &a0 [{}]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(30))
    keys = "a: {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\n"
    for front in (bomb, empty, hollow, keys.replace("a", "a" * 900, 1)):
        text = f"---\n{front}---\n{BODY}"
        document = load(text)
        assert (words(document.text), document.metadata) == (words(text), {})


def test_a_file_of_front_matter_alone_is_not_empty():
    document = load(YAML)
    assert document.title == "Handbook"
    assert words(document.text) == words(YAML)


def test_empty_front_matter_is_no_text():
    assert load("---\n---\n" + BODY).text == BODY.strip()


VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1).filter(
    lambda value: visible_text(value) == value
)
KEYS = st.from_regex(r"[a-z]{2,9}", fullmatch=True).filter(
    lambda key: key not in {"tag", "tags", "keywords"}
)


@given(st.dictionaries(KEYS, VALUES), VALUES)
def test_every_value_is_kept_and_the_body_is_the_text(values, body):
    front = "".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items()
    )
    document = load(f"---\n{front}---\n{body}\n")
    kept = dict(document.metadata)
    values.pop("title", None)
    assert kept == values
    assert document.text == load(f"{body}\n").text
