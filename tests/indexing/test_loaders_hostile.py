"""Broken, hostile and odd files: always a document or a LoadError that says why."""

import io
import json
import logging
import random
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tests.indexing.office_files import (
    make_docx,
    make_epub,
    make_picture,
    make_pptx,
    make_xlsx,
    make_zip,
    one_of_each,
)

from knotwork._extensions.testing.loader_contract import check_blocks
from knotwork._indexing.loaders import loader
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.splitters import make_splitter
from knotwork.errors import LoadError
from knotwork.records import Document

pytestmark = pytest.mark.slow


REASONS = {
    "empty",
    "binary",
    "encoding",
    "password",
    "no_text",
    "broken",
    "too_large",
    "unsupported",
}
FILES = one_of_each()
NAMES = sorted(FILES)
PACKED = ["a.docx", "a.pptx", "a.xlsx", "a.epub"]


def load_or_reason(name, data, **options):
    """Return the document or the reason; fail on anything else, warnings included."""
    document, failure = None, None
    try:
        document = load_file(data, uri=name, **options)
    except LoadError as error:
        failure = error
    if failure is not None:
        assert failure.reason in REASONS
        assert name in failure.message
        return failure.reason
    assert isinstance(document, Document)
    assert document.text.strip()
    document.text.encode("utf-8")
    document.title.encode("utf-8")
    check_blocks(document)
    _, chunks = make_splitter().split(document)
    assert sum(len(chunk.text) for chunk in chunks) <= len(document.text)
    return document


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [b"", b" \n\t\r\n ", b"\xef\xbb\xbf"])
def test_empty_files(name, data):
    assert load_or_reason(name, data) in {"empty", "broken"}


@pytest.mark.parametrize("name", NAMES)
def test_truncated_files(name):
    data = FILES[name]
    for part in (1, 2, 5, 8, len(data) // 4, len(data) // 2, len(data) - 10, len(data) - 1):
        load_or_reason(name, data[:part])


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes(name):
    source = random.Random(name)
    for size in (1, 100, 5_000):
        load_or_reason(name, source.randbytes(size))
        load_or_reason(name, FILES[name][:16] + source.randbytes(size))


@pytest.mark.parametrize("name", NAMES)
def test_flipped_bytes(name, capsys, caplog):
    source = random.Random(name)
    with caplog.at_level(logging.WARNING, logger="openpyxl"):
        for _ in range(12):
            data = bytearray(FILES[name])
            for _ in range(1 + len(data) // 300):
                data[source.randrange(len(data))] = source.randrange(256)
            load_or_reason(name, bytes(data))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.parametrize("name", NAMES)
def test_every_format_under_every_name(name):
    data = make_picture(Image.new("L", (16, 16))) if name == "a.png" else FILES[name]
    for other in NAMES:
        load_or_reason(other, data)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in PACKED and n != "a.pdf"])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "字" * 300_000,
        "a\x00b\x00 text with NULs\n" * 50,
        "\u202eשלום עולם\u202c مرحبا بالعالم. " * 500,
        "e\u0301\u0323" * 20_000,
        "👩\u200d👩\u200d👧" * 5_000,
        '"' * 100_000,
        "," * 200_000 + "x",
        "<" * 50_000 + "x",
        "<div>" * 20_000 + "x",
        "[" * 100_000,
        '{"a":' * 50_000,
        "> " * 20_000 + "x",
        "# \n" * 20_000 + "x",
        "---\n" + "- " * 10_000 + "x\n---\n",
        "-" * 200_000 + "\n" + "=" * 200_000,
        "<ul><li>x" * 10_000,
        "<blockquote>x<div class=note>y<figure><figcaption>z" * 5_000,
    ],
    ids=range(18),
)
@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.nightly)])
def test_odd_text(name, text, share):
    load_or_reason(name, text[: int(len(text) * share)].encode())


def test_a_table_of_one_wide_row_and_many_short_ones():
    page = f"<table><tr>{'<td>1' * 10_000}{'<tr><td>1' * 10_000}</table>"
    assert load_or_reason("a.html", page.encode()) == "too_large"


@pytest.mark.parametrize("text", ["\x00" * 2_000, "\x1b[31mred\x1b[0m text of a log\n" * 40])
def test_control_characters(text):
    result = load_or_reason("a.log", text.encode())
    assert isinstance(result, Document) == ("red" in text)


def huge(size, *, member):
    return make_zip({member: b"<x>" + b" " * size, "[Content_Types].xml": "<Types/>"})


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("a.docx", "word/document.xml"),
        ("a.pptx", "ppt/presentation.xml"),
        ("a.xlsx", "xl/workbook.xml"),
        ("a.epub", "META-INF/container.xml"),
        ("a.docx", "media/image.png"),
    ],
)
def test_zip_bombs_are_not_unfolded(name, member):
    data = huge(9_000_000, member=member)
    assert len(data) < 20_000
    assert load_or_reason(name, data, max_file_mb=2) == "too_large"


def test_a_zip_bomb_that_lies_about_its_size():
    data = bytearray(huge(9_000_000, member="word/document.xml"))
    true, small = (9_000_003).to_bytes(4, "little"), (90).to_bytes(4, "little")
    assert data.count(true) >= 1
    lying = bytes(data).replace(true, small)
    assert load_or_reason("a.docx", lying, max_file_mb=2) == "broken"


def test_an_archive_of_many_members(monkeypatch):
    monkeypatch.setattr(loader, "MAX_MEMBERS", 100)
    data = make_zip({str(number): b"" for number in range(101)})
    assert load_or_reason("a.docx", data) == "too_large"


LAUGHS = '<!DOCTYPE x [<!ENTITY a "{}">{}]>'.format(
    "ha" * 500,
    "".join(f'<!ENTITY {b} "{f"&{a};" * 50}">' for a, b in zip("abcdef", "bcdefg", strict=True)),
)


def test_entities_are_not_expanded():
    book = make_epub(["<body><p>Fine.</p></body>"])
    for member, name, data in [
        ("OEBPS/book.opf", "a.epub", book),
        ("word/document.xml", "a.docx", make_docx(lambda d: d.add_paragraph("Fine."))),
        ("ppt/slides/slide1.xml", "a.pptx", make_pptx([("T", ["x"], "")])),
        ("xl/worksheets/sheet1.xml", "a.xlsx", make_xlsx({"S": [["a", "b"], ["c", "d"]]})),
    ]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {
                item: archive.read(item).decode("utf-8", "replace")
                for item in archive.namelist()
                if not item.endswith((".jpeg", ".bin"))
            }
        text = members[member]
        start = text.index("?>") + 2 if text.startswith("<?xml") else 0
        first = text.index(">", start) + 1
        members[member] = text[:start] + LAUGHS + text[start:first] + "&g;" + text[first:]
        result = load_or_reason(name, make_zip(members))
        assert isinstance(result, str) or "haha" not in result.text


def test_an_external_entity_is_not_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("TOP SECRET")
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    page = f"{entity}<html><body><p>Seen: &e;</p></body></html>"
    result = load_or_reason("a.html", page.encode())
    assert isinstance(result, str) or "TOP SECRET" not in result.text
    book = make_epub(["<body><p>x</p></body>"], title="&e;")
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        members = {item: archive.read(item).decode() for item in archive.namelist()}
    package = members["OEBPS/book.opf"]
    members["OEBPS/book.opf"] = package.replace('<?xml version="1.0"?>', entity)
    result = load_or_reason("a.epub", make_zip(members))
    assert isinstance(result, str) or "TOP SECRET" not in result.title + result.text


def test_yaml_of_front_matter_makes_strings_only_and_does_not_grow():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for front in ("x: !!python/object/apply:os.system [echo hacked]\n", bomb):
        result = load_or_reason("a.md", f"---\n{front}---\n# T\n\nText.".encode())
        assert isinstance(result, Document)
        assert sum(map(len, result.metadata.values())) < 10_000


def test_lone_surrogates_become_storable():
    result = load_or_reason("a.json", b'{"title": "a\\ud800b", "text": "c\\udfffd"}')
    assert result.text == "# a\ufffdb\n\nc\ufffdd"


def test_a_sheet_that_claims_to_be_huge():
    data = make_xlsx({"S": [["a", "b"], ["c", "d"]]})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {item: archive.read(item) for item in archive.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"]
    members["xl/worksheets/sheet1.xml"] = sheet.replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"')
    assert load_or_reason("a.xlsx", make_zip(members)).text == (
        "# S\n\n| a | b |\n| --- | --- |\n| c | d |"
    )


def test_old_and_encrypted_office_files():
    signature = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    encrypted = signature + "EncryptedPackage".encode("utf-16-le") + bytes(100)
    for name in ("a.doc", "a.xls", "a.docx", "a.xlsx", "a.txt"):
        assert load_or_reason(name, signature) == "unsupported"
        assert load_or_reason(name, encrypted) == "password"


def test_an_encrypted_archive_needs_a_password():
    data = bytearray(FILES["a.docx"])
    place = data.index(b"PK\x01\x02")
    data[place + 8] |= 1
    assert load_or_reason("a.docx", bytes(data)) == "password"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.gif", b"GIF89a" + bytes(range(256)) * 8),
        ("a.zip", make_zip({"x.txt": "hello"})),
        ("a.exe", b"MZ" + bytes(range(256)) * 8),
        ("noname", b"\x7fELF" + bytes(500)),
        ("a.svg", b"<svg><path d='M1 1'/></svg>"),
    ],
)
def test_other_formats_are_unsupported(name, data):
    assert load_or_reason(name, data) == "unsupported"


@given(st.sampled_from(NAMES), st.binary(max_size=300))
def test_any_bytes_under_any_name(name, data):
    load_or_reason(name, data)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["title", "text", "Body", "x", ""]), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(JSON, st.booleans())
def test_any_json(value, as_lines):
    data = json.dumps(value).encode()
    result = load_or_reason("a.jsonl" if as_lines else "a.json", data)
    assert isinstance(result, Document) or result == "empty"
