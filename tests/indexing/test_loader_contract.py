"""The contract of loaders holds for every loader of the package."""

import json

import pytest
from tests.indexing.office_files import (
    ODF_SHEET,
    ODF_TEXT,
    RTF,
    TEX,
    draw_page,
    make_docx,
    make_eml,
    make_epub,
    make_odf,
    make_pdf,
    make_picture,
    make_pptx,
    make_xlsx,
    make_zip,
    one_of_each,
    printed,
)
from tests.indexing.sound_files import ScriptedTranscriber, sound_file, tone, words

from knotwork._extensions.formats.calendars import CalendarLoader
from knotwork._extensions.formats.docx import WordLoader
from knotwork._extensions.formats.epub import EpubLoader
from knotwork._extensions.formats.html import HtmlLoader
from knotwork._extensions.formats.json_records import JsonLoader
from knotwork._extensions.formats.mail import MailLoader
from knotwork._extensions.formats.markup import MarkupLoader
from knotwork._extensions.formats.notebooks import NotebookLoader
from knotwork._extensions.formats.notes import NotesLoader
from knotwork._extensions.formats.opendocument import OpenDocumentLoader
from knotwork._extensions.formats.pptx import SlidesLoader
from knotwork._extensions.formats.rtf import RtfLoader
from knotwork._extensions.formats.spreadsheets import DelimitedLoader, SheetsLoader
from knotwork._extensions.formats.subtitles import SubtitlesLoader
from knotwork._extensions.media import speech
from knotwork._extensions.media.pictures import PictureLoader
from knotwork._extensions.media.speech import AudioLoader
from knotwork._extensions.pdf.pdf import PdfLoader
from knotwork._indexing.loaders.loader import FORMATS, Source, can_recognise
from knotwork._indexing.loaders.markdown import MarkdownLoader
from knotwork._indexing.loaders.plain_text import TextLoader
from knotwork.testing import LoaderContract

pytestmark = pytest.mark.slow

TEXT = "The stone bridge opened in 1784."
PAGE = f"""<html><head><title>Bridges
 of 塔尔图</title><meta name="author" content="Ada
Lovelace"></head><body><h1>Old
bridge</h1><p>{TEXT}</p><dl><dt>Toll</dt><dd>One crown.</dd></dl><p>It has:</p>
<ul><li>an arch</li><li>二<ol><li>x</li></ol></li></ul><table><tr><th>Year</th><th>Toll</th></tr>
<tr><td>1784</td><td>1</td></tr><tr><td>1790</td><td>2</td></tr></table><pre>code  here</pre>
<p><a href="/x">One</a> <a href="/y">Two</a></p></body></html>"""
MARKDOWN = f"""---
title: Bridges
tags: [stone, 石]
---
# Old *bridge*

{TEXT} These are kept:

- **Arch:** of stone
- 二

| Year | Toll |
|------|------|
| 1784 | 1    |

```
code
```
"""
ROWS = [["name", "opened", "toll"], ["Stone bridge", 1784, 1.5], ["新桥", 1990, None]]
ROW = "| Stone bridge | 1784 | 1.5 |"


def build_word(document):
    document.add_heading("Bridges", 0)
    document.add_heading("Old bridge", 1)
    document.add_paragraph(TEXT)
    document.add_paragraph("an arch", style="List Bullet")
    table = document.add_table(rows=3, cols=3)
    cells = [str(cell or "") for row in ROWS for cell in row]
    for cell, text in zip(table._cells, cells, strict=True):
        cell.text = text


def delimited(delimiter):
    return "\n".join(delimiter.join(str(c or "") for c in row) for row in ROWS).encode()


LAMPS = [("Lamp", "Watts", "Place"), ("one", "60", "gate"), ("two", "40", "arch")]
LAMPS += [("three", "75", "pier"), ("four", "25", "lock")]
RECORD = {"title": "Bridges", "text": TEXT, "year": 1784}
SAMPLES = {
    "a.txt": (TextLoader, f"Chapter 1\n\n{TEXT}\n\n第二章 新桥\n\n很好。".encode(), TEXT),
    "a.rst": (TextLoader, f"Bridges\n=======\n\n{TEXT}\n".encode(), TEXT),
    "a.md": (MarkdownLoader, MARKDOWN.encode(), TEXT),
    "a.html": (HtmlLoader, PAGE.encode(), TEXT),
    "a.pdf": (
        PdfLoader,
        make_pdf(
            [
                ["Old bridge", TEXT],
                [
                    *("New bridge", "It is of steel. It has:", printed("- two lamps", 680)),
                    *(printed("- a gate", 668), printed("lamps --on", 640, font="FM")),
                    *(
                        printed(cell, 600 - 14 * number, x=x)
                        for number, row in enumerate(LAMPS)
                        for x, cell in zip((72, 180, 300), row, strict=True)
                    ),
                ],
            ],
            title="Bridges",
            bookmarks=[("Old bridge", 0, 1), ("New bridge", 1, 1)],
        ),
        TEXT,
    ),
    "a.docx": (WordLoader, make_docx(build_word, title="Bridges", author="Ada"), TEXT),
    "a.pptx": (SlidesLoader, make_pptx([("Old bridge", [TEXT, "二"], "Say hello.")]), TEXT),
    "a.xlsx": (SheetsLoader, make_xlsx({"Bridges": ROWS, "空": [["only text"]]}), ROW),
    "a.csv": (DelimitedLoader, delimited(","), ROW),
    "a.tsv": (DelimitedLoader, delimited("\t"), ROW),
    "a.json": (JsonLoader, json.dumps(RECORD).encode(), TEXT),
    "a.jsonl": (JsonLoader, b"\n".join([json.dumps(RECORD).encode()] * 2), TEXT),
    "a.epub": (
        EpubLoader,
        make_epub([f"<body><h1>Old bridge</h1><p>{TEXT}</p></body>", "<body><p>二</p></body>"]),
        TEXT,
    ),
    "a.srt": (SubtitlesLoader, f"1\n00:00:01,5 --> 00:00:02,0\n{TEXT}\n".encode(), TEXT),
    "a.eml": (MailLoader, make_eml(), "the trip is approved."),
    "a.ipynb": (NotebookLoader, one_of_each()["a.ipynb"], "Text."),
    "a.rtf": (RtfLoader, RTF, "Täxt [^1] € 港."),
    "a.odt": (OpenDocumentLoader, make_odf(ODF_TEXT), "a note"),
    "a.ods": (OpenDocumentLoader, make_odf(ODF_SHEET), "| Ada | 36 |"),
    "a.enex": (NotesLoader, one_of_each()["a.enex"], "The gate code is 4711."),
    "a.tex": (MarkupLoader, TEX, "| 3 | 4 |"),
    "a.adoc": (MarkupLoader, one_of_each()["a.adoc"], "Text."),
    "a.ics": (CalendarLoader, one_of_each()["a.ics"], "When: 12 May 2026, 09:00 to 11:00"),
}
if can_recognise():
    SAMPLES["a.png"] = (
        PictureLoader,
        make_picture(draw_page([(20, 20, TEXT), (20, 90, "It is long.")], size=(600, 480))),
        TEXT,
    )
if speech.is_available():
    SAMPLES["a.wav"] = (AudioLoader, sound_file(tone(1.0), ".wav"), TEXT)
    SAMPLES["a.mp3"] = (AudioLoader, sound_file(tone(1.0), ".mp3", tags={"title": "二"}), TEXT)
    SAMPLES["a.mp4"] = (AudioLoader, sound_file(tone(0.3), ".mp4", pictures=True), TEXT)
ARCHIVES = {
    "a.docx": "word/document.xml",
    "a.pptx": "ppt/presentation.xml",
    "a.xlsx": "xl/workbook.xml",
    "a.epub": "META-INF/container.xml",
    "a.odt": "content.xml",
    "a.ods": "content.xml",
}
LONG = "name " * 4_000
WIDE = "<td>1" * 500
COLUMNS = [f"c{n}" for n in range(500)]
EXPANDING = {
    "a.html": f"<table><tr>{WIDE}{'<tr><td>1' * 4_000}</table>",
    "a.csv": f"{','.join(COLUMNS)}\n" + "1\n" * 4_000,
    "a.json": json.dumps({LONG: {f"key{n}": n for n in range(300)}}),
} | {name: make_zip({member: " " * 5_000_000}) for name, member in ARCHIVES.items()}


class TestLoaders(LoaderContract):
    @pytest.fixture(autouse=True)
    def _hear_the_text(self, monkeypatch):
        transcriber = ScriptedTranscriber([[words(TEXT)]])
        monkeypatch.setattr(speech, "open_transcriber", lambda source: transcriber)

    @pytest.fixture(params=SAMPLES)
    def name(self, request):
        return request.param

    @pytest.fixture
    def loader(self, name):
        return SAMPLES[name][0]()

    @pytest.fixture
    def sample(self, name):
        return SAMPLES[name][1]

    @pytest.fixture
    def sample_text(self, name):
        return SAMPLES[name][2]

    @pytest.fixture
    def source(self, name, sample):
        return Source(f"no such folder/{name}", sample)

    @pytest.fixture
    def oversized(self, name):
        data = EXPANDING.get(name)
        return data.encode() if isinstance(data, str) else data


def test_every_loader_has_a_sample():
    sampled = set() if can_recognise() else set(PictureLoader.suffixes)
    sampled |= set() if speech.is_available() else set(AudioLoader.suffixes)
    sampled |= {suffix for loader, _, _ in SAMPLES.values() for suffix in loader.suffixes}
    assert sampled == {suffix for known in FORMATS.values() for suffix in known.suffixes}
