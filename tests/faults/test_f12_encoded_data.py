"""Blocks of base64 and hexadecimal digits are left out of every text, and counted."""

import base64
import json
import random
import time
from collections import Counter

import pytest
from tests.faults.small_files import read
from tests.indexing.office_files import make_docx, make_epub

from knotwork._indexing.loaders.decoding import without_encoded_data

CHANCE = random.Random(1)
DATA = CHANCE.randbytes(3_000)
LINE = base64.b64encode(DATA).decode()
WRAPPED = base64.encodebytes(DATA).decode()
PEM = "\n".join(LINE[place : place + 64] for place in range(0, 1_300, 64))
PEM = f"-----BEGIN CERTIFICATE-----\n{PEM}\n-----END CERTIFICATE-----"
DUMP = "\n".join(
    f"{place:08x}: {DATA[place : place + 16].hex(' ', 2)}  ..a..." for place in range(0, 640, 16)
)
COLUMNS = "\n".join(
    f"{place:08x}  {DATA[place : place + 16].hex(' ')}  |.a.|" for place in range(0, 640, 16)
)
ARRAY = ", ".join(f"0x{byte:02X}" for byte in DATA[:300])
SENTENCE = "The gate opens at six."


def two_paragraphs(document):
    document.add_paragraph(SENTENCE)
    document.add_paragraph(LINE)


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [
        ("a.txt", f"{SENTENCE}\n\n{WRAPPED}\nIt is late.", "1 base64 block"),
        ("a.md", f"# A\n\n{SENTENCE}\n\n{WRAPPED}\n\n{PEM}", "2 base64 blocks"),
        ("a.md", f"{SENTENCE} ![](data:image/png;base64,{LINE})", ""),
        ("a.html", f'<p>{SENTENCE}</p><img src="data:image/png;base64,{LINE}">', ""),
        ("a.html", f"<p>{SENTENCE}</p><pre>{WRAPPED}</pre>", "1 base64 block"),
        ("a.rst", f"{SENTENCE}\n\n::\n\n    {WRAPPED}", "1 base64 block"),
        ("a.csv", f"name,logo\nThe gate opens at six.,{LINE}\nb,{LINE}\n", "2 base64 blocks"),
        ("a.json", json.dumps({"text": SENTENCE, "logo": WRAPPED}), "1 base64 block"),
        ("a.log", f"{SENTENCE}\n{DUMP}\n", "1 hex dump"),
        ("a.eml", f"From: a\nSubject: s\n\n{SENTENCE}\n> {WRAPPED}", "1 base64 block"),
        ("noname", f"key: {DATA.hex()}\n{SENTENCE}", "1 hex dump"),
        ("a.epub", make_epub([f"<body><p>{SENTENCE}</p><pre>{LINE}</pre></body>"]), ""),
        ("a.docx", make_docx(two_paragraphs), "1 base64 block"),
    ],
)  # fmt: skip
def test_encoded_data_is_left_out_and_counted(name, data, count):
    document = read(name, data)
    assert SENTENCE in document.text
    assert not any(piece in document.text for piece in (LINE[200:260], WRAPPED[200:260], "0000010"))
    assert count in document.metadata.get("unread", "")
    assert bool(count) == ("unread" in document.metadata) or name == "a.epub"


@pytest.mark.parametrize(
    "data",
    [
        *(LINE, WRAPPED, PEM, DUMP, COLUMNS, ARRAY, DATA[:300].hex(":"), DATA[:300].hex(" ")),
        base64.urlsafe_b64encode(DATA).decode(),
        base64.b64encode(bytes(400) + DATA).decode(),
        base64.b64encode(b"The quick brown fox jumps over the lazy dog. " * 20).decode(),
        base64.b64encode("港口在六点开放。".encode() * 40).decode(),
        "    " + WRAPPED.replace("\n", "\n    "),
        WRAPPED.replace("\n", "\r\n"),
    ],
)
def test_forms_of_encoded_data(data):
    left_out = Counter()
    rest = without_encoded_data(f"Before\n{data}\nThanks\n", left_out)
    assert sum(left_out.values()) == 1
    assert rest.replace("-----BEGIN CERTIFICATE-----", "").split()[0] == "Before"
    assert rest.split()[-1] == "Thanks"
    assert len(rest) < 80


@pytest.mark.parametrize(
    "text",
    [
        "ACGTTGCA" * 100,
        "".join(CHANCE.choice("ACGTacgt") for _ in range(1_000)),
        "".join(CHANCE.choice("ACDEFGHIKLMNPQRSTVWY") for _ in range(1_000)),
        "".join(CHANCE.choice("0123456789") for _ in range(1_000)),
        " ".join(str(CHANCE.randrange(10, 99)) for _ in range(300)),
        "https://example.org/" + "some-long_path/withCamelCase/v2/" * 20,
        "org_apache_hadoop_hdfs_server_namenode_" * 10,
        "MyVeryLongClassNameFactoryBeanImplementation2" * 10,
        "com/GoogleCloudDataprocV1betaJob/executeBatchRequest3/" * 10,
        "港口在六点开放。" * 100,
        "Donaudampfschifffahrtsgesellschaft" * 20,
        "\n".join(CHANCE.randbytes(32).hex() + f"  file{n}.txt" for n in range(30)),
        "\n".join(CHANCE.randbytes(20).hex() for _ in range(30)),
        "\n".join(CHANCE.randbytes(32).hex() for _ in range(30)),
        "\n".join(f"{n:04d} 1234 5678 90 12 was written at {n}" for n in range(30)),
        "\n".join(f"2026 10 12 {n:04d} 33 44 foo" for n in range(30)),
        "-" * 1_000,
        "| --- " * 200,
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8yR0vEwqW0m5 ada@harbour",
    ],
)
def test_other_long_texts_are_kept(text):
    left_out = Counter()
    assert without_encoded_data(f"a {text} b", left_out) == f"a {text} b"
    assert not left_out


@pytest.mark.parametrize(
    "text",
    [
        *("a" * 1_000_000, ("a" * 60 + "\n") * 20_000, "data:" * 200_000, "0a " * 300_000),
        *("0000 12 12 12 12 x\n" * 50_000, "=data:image/png;" * 60_000, " " * 1_000_000),
        *(
            "\\x12" * 250_000 + "z",
            "12:" * 300_000 + "z",
            "(data:a;base64," * 60_000,
            "\n" * 1_000_000,
        ),
        *(("1234 12" + " " * 5_000 + "\n") * 200, "1234 " + "12\n" * 300_000, "0x" * 500_000),
    ],
)
def test_the_search_is_linear(text):
    begin = time.process_time()
    without_encoded_data(text, Counter())
    assert time.process_time() - begin < 3


def test_a_signature_is_no_part_that_was_not_read():
    data = base64.b64encode(bytes(range(200))).decode()
    armour = f"-----BEGIN PGP SIGNATURE-----\n{data}\n-----END PGP SIGNATURE-----\n"
    document = read("a.txt", f"The lock opens at six.\n\n{armour}")
    assert document.text == "The lock opens at six."
    assert "unread" not in document.metadata
