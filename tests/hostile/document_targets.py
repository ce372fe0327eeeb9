"""Documents of every format, damaged, and the rules that read their text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from hypothesis import strategies as st
from tests.hostile.mutations import ODD_TEXTS, damaged, damaged_archive, decoded, loose
from tests.hostile.targets import Target
from tests.indexing.office_files import make_docx, make_epub, make_xlsx, one_of_each
from tests.indexing.sound_files import sound_file, tone

from knotwork._extensions.media.sound import PIECE_S, SAMPLE_RATE, open_recording
from knotwork._extensions.media.speech import is_available
from knotwork._extensions.testing.loader_contract import check_blocks
from knotwork._indexing.loaders.loader import Source, clean_text
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.splitters import make_splitter
from knotwork._transform.extractor import make_extractor
from knotwork.errors import LoadError
from knotwork.records import Document

_XML = (
    *(b"<w:p>", b"</w:p>", b"<w:tbl>", b"<w:tr>", b"<w:tc>", b"<w:r>", b"<w:t>", b"<a:t>"),
    *(b'<w:gridSpan w:val="9999999"/>', b'r="XFD1048576"', b"<mergeCell ref='A1:XFD9'/>"),
    *(b"<!DOCTYPE a>", b"<![CDATA[", b"xml:space='preserve'", b"<row>", b"<c t='s'><v>9</v></c>"),
    *(b"<text:list>", b"<text:p>", b"<table:table-cell>", b"<text:note>", b"<draw:image/>"),
    *(b"<text:s text:c='99999999'/>", b'table:number-columns-repeated="16384"'),
    *(b'<itemref idref="c0"/>', b"<spine>", b"Target='../../x'", b"encoding='utf-7'"),
)
_HTML = (
    *(b"<table>", b"<tr>", b"<td colspan=99999>", b"<td rowspan=65534>", b"<ul><li>", b"<h1>"),
    *(b"<pre>", b"<script>", b"<meta charset=utf-16>", b"<template>", b"<svg>", b"<math>", b"<p>"),
    *(b"<dt>", b"<dd>", b"<blockquote>", b"<div class=note>", b"<li value=7>", b"<ol start=x>"),
    *(b"&nbsp;", b"&#x202e;", b"<title>", b"<base href=x>", b"<plaintext>", b"<select><option>"),
    *(
        b"<sup><a href=#n>1</a></sup>",
        b"<p id=n>",
        b"<aside id=n>",
        b"<li id=n>",
        b"<sup>",
        b"</p>",
    ),
    *(
        b"<mfrac>",
        b"<msup>",
        b"<mtd>",
        b"<img alt='a b'>",
        b"<figure>",
        b"<thead>",
        b"<ol reversed>",
    ),
    *(b"<span class=sidenote>", b"<input checked type=radio>", b"<div aria-hidden=true>", b"<s>"),
)
_MARKDOWN = (
    *(b"# ", b"---\n", b"```\n", b"> ", b"- ", b"1. ", b"|a|b|\n|-|-|\n", b"[x](y)", b"![", b"**"),
    *(b"[^1]: ", b"<div>", b"$$", b"+++\n", b"key: value\n", b"\t", b"    ", b"===\n", b"&lt;"),
    *(b"!!python/object:os.system", b"&a [*a, *a]", b"? ", b"<<: *a"),
    *(b"[^1]", b"[^2]: [^1]", b"~~", b"<sup>", b"^2^", b"data:image/png;base64,AAAA", b"a: b: c\n"),
)
_PDF = (
    *(b"obj", b"endobj", b"stream\n", b"endstream", b"/Length 99999999", b"/Kids [1 0 R]", b"<<"),
    *(
        b"/Filter /FlateDecode",
        b"/Encrypt",
        b"/Type /ObjStm",
        b"BT",
        b"Tj",
        b"[(a) -999] TJ",
        b"Tf",
    ),
    *(b"/Count -1", b"xref", b"trailer", b"startxref", b"/Parent 3 0 R", b"/MediaBox [0 0 0 0]"),
)
_JSON = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"1e999", b'"text"', b"null", b"\\ud800")
_MAIL = (
    *(b"Content-Type: multipart/mixed; boundary=x\n", b"--x\n", b"--x--\n", b"=?utf-8?b?4pyT?="),
    *(b"Content-Transfer-Encoding: base64\n", b"Content-Type: message/rfc822\n", b"charset=zzz"),
    *(b"Date: Mon, 99 Foo 99999\n", b"Subject: ", b"\n\n", b"Content-Type: text/html\n", b"\t"),
)
_SUBTITLES = (
    *(
        b"00:00:01,0 --> 00:00:02,0\n",
        b"-->",
        b"\n\n",
        b"<v Ann>",
        b"<c.x>",
        b"{\\an8}",
        b"NOTE x\n",
    ),
    *(b"STYLE\n", b"9999:99:99.999", b"12\n", b"- ", b"&lt;", b"WEBVTT\n", b"<00:00:01.000>"),
)
_CALENDAR = (
    *(b"BEGIN:VCALENDAR\n", b"BEGIN:VEVENT\n", b"END:VEVENT\n", b"BEGIN:VCARD\n", b"\n ", b";"),
    *(b"DTSTART:99999999T999999\n", b"DURATION:P9999W\n", b"DTEND;VALUE=DATE:00000000\n", b":"),
    *(b"RRULE:FREQ=DAILY;UNTIL=x;BYDAY=9MO\n", b";ENCODING=QUOTED-PRINTABLE:=C3=\n", b'"', b"=\n"),
)
_NOTEBOOK = (
    *(b'"cells":', b'"outputs":', b'"data":', b'"source":', b'"text":', b'"level":'),
    *_JSON,
)
_RTF = (
    *(
        b"{",
        b"}",
        b"\\'",
        b"\\u-9999999 ",
        b"\\uc999 ",
        b"\\bin99999999 ",
        b"\\cell ",
        b"\\row ",
        b"\\pard ",
    ),
    *(
        b"{\\footnote ",
        b"{\\listtext ",
        b"\\ansicpg99999 ",
        b"\\ilvl99 ",
        b"\\s99 ",
        b"{\\*\\x ",
        b"\\intbl ",
    ),
    *(
        b"{\\fonttbl",
        b"{\\stylesheet",
        b"\\fcharset134 ",
        b"\\f1 ",
        b"{\\pict ",
        b"\\plain ",
        b"\\par ",
    ),
)
_NOTES = (
    b"<note>",
    b"</note>",
    b"<resource>",
    b"<data>",
    b"<![CDATA[",
    b"]]>",
    b"<en-crypt>",
    *_HTML,
)
_TEX = (
    *(
        b"\\begin{tabular}{l}",
        b"\\end{tabular}",
        b"\\begin{itemize}",
        b"\\item[",
        b"{",
        b"}",
        b"$",
        b"&",
        b"\\\\",
    ),
    *(
        b"\\section{",
        b"\\begin{verbatim}",
        b"\\verb|",
        b"%",
        b"\\[",
        b"\\title{",
        b"\\begin{document}",
        b"[",
    ),
    *(b"\\footnote{", b"\\'{e}", b"\\multicolumn{2}{", b"\\end{itemize}", b"\\cite{", b"\\textbf{"),
)
_ADOC = (
    *(
        b"= ",
        b"|===\n",
        b"|",
        b"----\n",
        b"////\n",
        b"* ",
        b". ",
        b":: ",
        b"[source,x]\n",
        b"<<a,b>>",
    ),
    *(b"link:a[b]", b"footnote:[", b"....\n", b"*a*", b".T\n", b"a|", b"[", b"]"),
)
_TABLE = (b",", b";", b"\t", b"|", b'"', b'""', b"\n", b"\r", b"sep=;\n", b"=1+1", b"a,b,c\n")
_TEXT = (b"\n\n", b"\x0c", b"- 1 -\n", b"Mr. ", b"1.2.3 ", b". ", b"!? ", b"www.x.y", b"\xff\xfe")

_SOUND = (
    *(b"RIFF", b"WAVE", b"data", b"fmt ", b"LIST", b"ftyp", b"moov", b"mdat", b"stts", b"trak"),
    *(b"OggS", b"OpusHead", b"fLaC", b"ID3\x04", b"\xff\xfb", b"Xing", b"\x1aE\xdf\xa3"),
    *(bytes(4), b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00\x00\x00\x01", b"#EXTM3U\n"),
)

_WORDS = {
    ".txt": _TEXT,
    ".md": _MARKDOWN,
    ".rst": _MARKDOWN,
    ".log": _TEXT,
    ".html": _HTML,
    ".pdf": _PDF,
    ".csv": _TABLE,
    ".tsv": _TABLE,
    ".json": _JSON,
    ".jsonl": _JSON,
    ".eml": _MAIL,
    ".srt": _SUBTITLES,
    ".vtt": _SUBTITLES,
    ".ics": _CALENDAR,
    ".ipynb": _NOTEBOOK,
    ".rtf": _RTF,
    ".enex": _NOTES,
    ".tex": _TEX,
    ".adoc": _ADOC,
    ".png": (b"IHDR", b"IDAT", b"IEND", b"PLTE", b"tRNS", b"acTL", bytes(4), b"\xff\xff\xff\xff"),
}
_ARCHIVES = (".docx", ".pptx", ".xlsx", ".epub", ".odt", ".ods")


@cache
def _seeds() -> dict[str, list[bytes]]:
    seeds = {f".{name.partition('.')[2]}": [data] for name, data in one_of_each().items()}
    seeds[".md"].append(
        b"# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n  - y\n\n```py\nz\n```\n\n> q\n\n[^1]: n\n"
    )
    seeds[".html"].append(
        b"<html><head><title>T</title><meta charset=utf-8></head><body><nav>n</nav><h1>A</h1>"
        b"<p>One <b>two</b>.</p><table><tr><th>a<th>b<tr><td colspan=2>c</table><ul><li>x</ul>"
        b"<pre>y</pre><dl><dt>d<dd>e<ol><li>f<h2>g</h2></ol></dl><div class=note><p class=title>h"
        b"<blockquote>i</blockquote></div><figure>j<figcaption>k</figcaption></figure>"
        b"</body></html>"
    )
    seeds[".docx"].append(make_docx(_add_table))
    seeds[".xlsx"].append(make_xlsx({"A": [["x", "y"], [1, "=A1"]], "B": [["z"], [2.5], [None]]}))
    seeds[".epub"].append(make_epub(["<h1>A</h1><p>b</p>", "<h2>C</h2><table><tr><td>d</table>"]))
    seeds[".eml"].append(
        b"From: a@b.c\nSubject: S\nContent-Type: multipart/alternative; boundary=x\n\n--x\n"
        b"Content-Type: text/plain\n\nHello.\n--x\nContent-Type: text/html\n\n<p>Hi.</p>\n--x--\n"
    )
    seeds[".eml"].append(
        b"From a@b.c Mon\nFrom: a@b.c\nSubject: S\n\nOne.\n\nFrom b Tue\nSubject: T\nContent-Type: "
        b"multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n\nSubject: U\n"
        b"\nV.\n--x--\n"
    )
    seeds[".ics"].append(b"BEGIN:VCARD\nFN:Jane\nTEL;TYPE=HOME:1\nADR:;;a;b;;c\nEND:VCARD\n")
    seeds[".srt"] = [
        b"1\n00:00:01,0 --> 00:00:02,0\nOne.\n\n2\n00:00:02,0 --> 00:00:03,0\n- Two.\n"
    ]
    seeds[".vtt"] = [b"WEBVTT\n\nNOTE x\n\na\n00:01.000 --> 00:02.000\n<v Ann>One <c>two</c>.\n"]
    return seeds


def _add_table(document: object) -> None:
    document.add_heading("A", 1)  # type: ignore[attr-defined]
    table = document.add_table(2, 2)  # type: ignore[attr-defined]
    table.cell(0, 0).text = "x"
    document.add_paragraph("item", style="List Bullet")  # type: ignore[attr-defined]


def _load(name: str, data: bytes) -> None:
    document = load_file(data, uri=name)
    document.text.encode("utf-8")
    check_blocks(document)
    _, chunks = make_splitter().split(document)
    assert sum(len(chunk.text) for chunk in chunks) <= len(document.text)


def _decode(data: bytes) -> None:
    """Decode a recording; its speech is not recognised."""
    with open_recording(Source("a", data)) as recording:
        for piece in recording.pieces:
            assert np.isfinite(piece.samples).all()
            assert len(piece.samples) <= (PIECE_S + 60.0) * SAMPLE_RATE


def _extract(data: bytes) -> None:
    """Split a text and read it by the rules, as Markdown and in two languages."""
    document = Document("a.md", clean_text(decoded(data)), "A")
    _, chunks = make_splitter().split(document)
    make_extractor("rules").extract(document, [chunk for chunk in chunks if not chunk.is_parent])


_PROSE = (
    *("Ada Lovelace", "Mr. Smith", "Dr.", "Inc.", "of", "the", "is", "was born in", "1815", "and"),
    *("Section 4.2", "NASA (National Aeronautics)", "“quoted”", "(", ")", ",", ".", ":", ";", "—"),
    *("e.g.", "i.e.", "U.S.", "https://a.b/c?d=e#f", "a@b.c", "12 May 2024", "2024-05-01", "3 pm"),
    *(
        "是",
        "公司",
        "北京大学",
        "张三",
        "《论语》",
        "（",
        "）",
        "，",
        "。",
        "、",
        "二〇二四年五月",
        "第一章",
    ),
    *(
        "#",
        "##",
        "- ",
        "1.",
        "|",
        "\n",
        "\n\n",
        "*",
        "_",
        "`",
        "foo_bar",
        "CamelCase",
        "A.B.C.",
        "'s",
    ),
)


def targets() -> Iterator[Target]:
    """Yield a target for each format, and one for the rules."""
    for suffix, seeds in _seeds().items():
        if suffix in _ARCHIVES:
            inputs = damaged_archive(seeds, _XML)
        else:
            inputs = damaged(seeds, _WORDS[suffix])
        yield Target(
            f"load{suffix.replace('.', '-')}",
            inputs,
            lambda data, name=f"a{suffix}": _load(name, data),  # type: ignore[misc]
            errors=(LoadError,),
            seconds=20.0,
            examples=6,
        )
    if is_available():
        for suffix in (".wav", ".mp3", ".m4a", ".ogg", ".flac", ".mkv"):
            yield Target(
                f"sound{suffix.replace('.', '-')}",
                damaged([sound_file(tone(1.0), suffix, pictures=suffix == ".mkv")], _SOUND),
                _decode,
                errors=(LoadError,),
                seconds=20.0,
                examples=6,
            )
    prose = loose(_PROSE, most=200)
    repeated = st.builds(
        lambda word, end, times: word * times + end,
        st.sampled_from([*(word.encode() for word in _PROSE), *ODD_TEXTS[:60]]),
        st.sampled_from([b"", b".", b"!", b"\n", b")", b"x"]),
        st.sampled_from([1, 30, 1_000, 5_000]),
    )
    yield Target(
        "rules", st.one_of(prose, prose, repeated), _extract, errors=(), seconds=20.0, examples=10
    )
