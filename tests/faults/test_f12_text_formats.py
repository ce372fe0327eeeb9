"""Files that are text but no prose are read as what they are, whatever their suffix."""

import base64
import json

import pytest
from tests.faults.small_files import ask, read
from tests.indexing.office_files import ODF_NAMES, make_odf, make_zip

from knotwork.errors import LoadError
from knotwork.records import BlockKind

PICTURE = base64.b64encode(bytes(range(256)) * 100).decode()
TABLE = (
    "<div><table><thead><tr><th></th><th>height</th></tr></thead>"
    "<tbody><tr><th>0</th><td>4.2</td></tr></tbody></table></div>"
)
CELLS = [
    {"cell_type": "markdown", "source": ["# Tide model\n", "\n", "We fit."]},
    {
        "cell_type": "code",
        "source": ["rmse(model)"],
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["The RMSE is 0.42 m.\n"]},
            {
                "output_type": "display_data",
                "data": {"image/png": PICTURE, "text/plain": "<Figure>"},
            },
            {"output_type": "execute_result", "data": {"text/html": TABLE, "text/plain": "x"}},
            {
                "output_type": "error",
                "ename": "ValueError",
                "evalue": "bad",
                "traceback": ["\x1b[31m"],
            },
            {"output_type": "execute_result", "data": {"text/plain": ["\x1b[1m7\x1b[0m"]}},
        ],
    },
    {"cell_type": "raw", "source": ""},
]
NOTEBOOK = json.dumps(
    {"cells": CELLS, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
)
READ_NOTEBOOK = (
    "# Tide model\n\nWe fit.\n\n```python\nrmse(model)\n```\n\n```\nThe RMSE is 0.42 m.\n```\n\n"
    "|  | height |\n| --- | --- |\n| 0 | 4.2 |\n\n```\nValueError: bad\n```\n\n```\n7\n```"
)
OLD_NOTEBOOK = json.dumps(
    {
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Old"]},
                    {
                        "cell_type": "code",
                        "language": "python",
                        "input": ["1+1"],
                        "outputs": [
                            {"output_type": "pyout", "text": ["2"]},
                            {"output_type": "stream", "stream": "stdout", "text": ["hello"]},
                            {"output_type": "display_data", "png": "AAAA", "text": ["<fig>"]},
                        ],
                    },
                ]
            }
        ],
    }
)


@pytest.mark.parametrize("name", ["tide.ipynb", "tide.json", "tide"])
def test_notebooks(name):
    document = read(name, NOTEBOOK)
    assert document.text == READ_NOTEBOOK
    assert document.metadata["unread"] == "1 picture"
    assert read(name, OLD_NOTEBOOK).text == (
        "## Old\n\n```python\n1+1\n```\n\n```\n2\n```\n\n```\nhello\n```"
    )


RTF = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Calibri;}{\f1\fcharset134 SimSun;}
{\f2\fcharset204 Arial;}}{\stylesheet{\ql Normal;}{\s1\outlinelevel0 heading 1;}{\*\cs10 Default;}}
{\info{\title Br\'fccke}{\author Ada}}{\header Page head}
\pard\s1 Schl\'fcssel\par
\pard\plain\f0 Der Schl\'fcssel h\'e4ngt im B\'fcro{\footnote \chftn  Seit 1911.\par}.
 \u8364? 5 {\v no}{\b x}
\par
{\f1 \'b8\'db\'bf\'da\'d4\'da\'c1\'f9\'b5\'e3\'bf\'aa\'b7\'c5}\par
{\f2 \'cf\'f0\'e8\'e2\'e5\'f2}\par
\pard{\listtext\f3 \'b7\tab}\ls1\ilvl0 one item\par {\listtext\f3 o\tab}\ilvl1 inner\par
\pard{\listtext 1.\tab}first\par{\listtext 2.\tab}second\par
\pard\intbl Name\cell Price\cell\row\pard\intbl Berth\cell 43\cell\row
\pard{\pict\pngblip 89504e470d0a1a0a}After \u-10179?\u-8704?{\field{\*\fldinst HYPERLINK "x"}
{\fldrslt link}}
\par
{\b Timeout:} The time to wait.\par
}"""


@pytest.mark.parametrize("name", ["a.rtf", "a.txt", "a.doc", "letter"])
def test_rich_text(name):
    document = read(name, RTF)
    assert document.text == (
        "# Schlüssel\n\nDer Schlüssel hängt im Büro [^1]. € 5 x\n\n[^1] Seit 1911.\n\n"
        "港口在六点开放\n\nПривет"
        "\n\n- one item\n  - inner\n\n1. first\n2. second\n\n| Name | Price |\n| --- | "
        "--- |\n| Berth | 43 |"
        "\n\nAfter 😀link\n\nTimeout: The time to wait."
    )
    assert (document.title, document.metadata["author"]) == ("Brücke", "Ada")
    assert document.metadata["unread"] == "1 picture"
    assert "Timeout" in {b.label for b in document.blocks if b.kind is BlockKind.DEFINITION}


def test_rich_text_of_other_code_pages():
    assert read("a.rtf", rb"{\rtf1\ansi\ansicpg936 \'b8\'db\'bf\'da}").text == "港口"
    assert read("a.rtf", rb"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8}").text == "При"
    assert read("a.rtf", rb"{\rtf1\mac gr\'9f\'a7e}").text == "grüße"
    assert read("a.rtf", rb"{\rtf1\ansi\uc2 a\u8211\'a1\'aab}").text == "a–b"


STYLES = (
    '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    '<style:style style:name="T1"><style:text-properties fo:font-weight="bold"/></style:style>'
    '<text:list-style style:name="L2"><text:list-level-style-number text:level="1" '
    'style:num-format="1"/></text:list-style>'
)
TEXT = """<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
<text:table-of-content><text:p>Old bridge 1</text:p></text:table-of-content>
<text:h text:outline-level="1">Old &lt;bridge&gt;</text:h>
<text:p>The stone<text:s/>bridge<text:note>
<text:note-citation>1</text:note-citation><text:note-body><text:p>Built in 1784.</text:p>
</text:note-body>
</text:note> opened.<text:line-break/>Next.<office:annotation><text:p>?</text:p>
</office:annotation></text:p>
<text:p><text:span text:style-name="T1">Timeout:</text:span> The time to wait.</text:p><text:list>
<text:list-item><text:p>an arch</text:p><text:list><text:list-item><text:p>inner</text:p>
</text:list-item>
</text:list></text:list-item></text:list><text:list text:style-name="L2"><text:list-item>
<text:p>first</text:p>
</text:list-item><text:list-item><text:p>second</text:p></text:list-item></text:list><text:p
text:style-name="P1">def f():</text:p><text:p text:style-name="P1">
<text:s text:c="4"/>return 1</text:p>
<text:p>After.</text:p><table:table><table:table-header-rows><table:table-row><table:table-cell>
<text:p>Name
</text:p></table:table-cell><table:table-cell><text:p>Price</text:p></table:table-cell>
</table:table-row>
</table:table-header-rows><table:table-row><table:table-cell><text:p>Pier</text:p>
</table:table-cell>
<table:table-cell><text:p>43</text:p></table:table-cell></table:table-row></table:table><text:p>
<draw:frame>
<draw:image/></draw:frame>A picture.</text:p></office:text>"""
READ_TEXT = (
    "# Old <bridge>\n\nThe stone bridge[^1] opened.\nNext.\n\n[^1] Built in 1784.\n\n"
    "Timeout: The time to wait."
    "\n\n- an arch\n  - inner\n\n1. first\n2. second\n\n```\ndef f():\n    return 1\n```\n\nAfter."
    "\n\n| Name | Price |\n| --- | --- |\n| Pier | 43 |\n\nA picture."
)


@pytest.mark.parametrize("name", ["a.odt", "a.bin", "a.docx"])
def test_texts_of_libreoffice(name):
    meta = "<dc:title>Bridges</dc:title><dc:creator>Ada</dc:creator>"
    document = read(name, make_odf(TEXT, styles=STYLES, meta=meta))
    assert document.text == READ_TEXT
    assert (document.title, document.metadata["author"]) == ("Bridges", "Ada")
    assert document.metadata["unread"] == "1 picture"


def test_texts_of_libreoffice_in_one_file():
    flat = f"<office:document {ODF_NAMES}><office:body>{TEXT}</office:body></office:document>"
    assert "The stone bridge[^1] opened." in read("a.fodt", flat).text


def cell(text, **values):
    held = "".join(f' office:{name.replace("_", "-")}="{value}"' for name, value in values.items())
    return f"<table:table-cell{held}><text:p>{text}</text:p></table:table-cell>"


def row(*cells):
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


SHEET = (
    '<office:spreadsheet><table:table table:name="Berths">'
    + row(cell("Name"), cell("Price"), cell("Built"))
    + row(
        cell("Old"),
        cell("43,50 €", value_type="currency", value="43.5"),
        cell("1.5.1784", value_type="date", date_value="1784-05-01"),
    )
    + row(
        cell("New"),
        cell("50", value_type="float", value="50"),
        cell("1.5.90", value_type="date", date_value="1990-05-01"),
        '<table:table-cell table:number-columns-repeated="16380"/>',
    )
    + '<table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row>'
    + "</table:table></office:spreadsheet>"
)


def test_sheets_of_libreoffice_have_typed_values():
    document = read("a.ods", make_odf(SHEET))
    assert document.text == (
        "# Berths\n\n| Name | Price | Built |\n| --- | --- | --- |\n"
        "| Old | 43,50 € | 1784-05-01 |\n| New | 50 | 1990-05-01 |"
    )
    (table,) = document.tables
    assert [column.type for column in table.columns] == ["text", "number", "date"]
    assert [row[1] for row in table.rows] == [43.5, 50]


def test_tables_of_libreoffice_in_cells_and_over_cells():
    two = '<table:table-cell table:number-columns-spanned="2"><text:p>{}</text:p>'
    two += "</table:table-cell><table:covered-table-cell/>"
    hours = row(cell("Mon"), cell("8-12")) + row(cell("Tue"), cell("9-13"))
    held = f"<table:table-cell><table:table>{hours}</table:table></table:table-cell>"
    rows = (
        row(cell("Site"), two.format("Fee"))
        + row(cell(""), cell("Winter"), cell("Summer"))
        + row(cell("Vik"), two.format("30"))
        + row(cell("Bo"), held, cell("20"))
    )
    text = f"<office:text><text:p>Fees</text:p><table:table>{rows}</table:table></office:text>"
    assert read("a.odt", make_odf(text)).text.split("\n")[2:] == [
        *("| Site | Fee Winter | Fee Summer |", "| --- | --- | --- |"),
        *("| Vik | 30 | 30 |", "| Bo | Mon 8-12; Tue 9-13 | 20 |"),
    ]


SLIDES = (
    '<office:presentation><draw:page><draw:frame presentation:class="title">'
    "<draw:text-box><text:p>Plan"
    "</text:p></draw:text-box></draw:frame><draw:frame><draw:text-box><text:list>"
    "<text:list-item><text:p>"
    "one</text:p></text:list-item></text:list></draw:text-box></draw:frame>"
    "<presentation:notes><text:p>Say "
    "hello.</text:p></presentation:notes></draw:page><draw:page><text:p>"
    "Second.</text:p></draw:page>"
    "</office:presentation>"
)


def test_slides_of_libreoffice_are_pages():
    document = read("a.odp", make_odf(SLIDES))
    assert document.text == "# Plan\n\n- one\n\nSay hello.\n\nSecond."
    assert [page.label for page in document.pages] == ["1", "2"]


def test_an_encrypted_text_of_libreoffice_is_refused():
    manifest = '<manifest:encryption-data manifest:checksum="x"/>'
    with pytest.raises(LoadError) as caught:
        read("a.odt", make_zip({"META-INF/manifest.xml": manifest, "content.xml": b"\x91\x17"}))
    assert caught.value.reason == "password"


NOTES = f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd"><en-export><note>
<title>Gate
</title><content><![CDATA[<?xml version="1.0"?><!DOCTYPE en-note SYSTEM "x"><en-note>
<div>The gate code is
4711.</div><ul><li>a&nbsp;b</li></ul><div><en-todo checked="true"/>Paint</div><div>
<en-todo/>Oil</div>
<en-media type="image/png"/><en-crypt>abc</en-crypt></en-note>]]></content>
<created>20260512T101112Z</created>
<tag>port</tag><resource>
<data encoding="base64">{base64.b64encode(b"A berth costs 43 euros.").decode()}</data>
<mime>text/plain</mime><resource-attributes><file-name>p.txt</file-name></resource-attributes>
</resource>
<resource><data encoding="base64">{PICTURE}</data><mime>image/png</mime></resource>
</note><note><title>Lock</title><content><![CDATA[<en-note>Six.</en-note>]]></content></note>
</en-export>"""


@pytest.mark.parametrize("name", ["my-notes.enex", "my-notes", "my-notes.txt"])
def test_notes_are_sections(name):
    document = read(name, NOTES)
    assert document.text == (
        "# Gate\n\nCreated: 2026-05-12\n\nTags: port\n\nThe gate code is 4711.\n\n- "
        "a\xa0b\n\n[x] Paint\n\n"
        "[ ] Oil\n\n## p.txt\n\nA berth costs 43 euros.\n\n# Lock\n\nSix."
    )
    assert document.metadata["unread"] == "1 encrypted text, 1 picture"


CALENDAR = """BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nTZID:X\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r
SUMMARY:Crane test\r\nDTSTART;TZID=Europe/Berlin:20260512T090000\r
DTEND;TZID=Europe/Berlin:20260512T113000\r\nLOCATION:Pier 4\\, north\r
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,FR;UNTIL=20260630T000000Z\r\nDESCRIPTION:Bring\\nthe long\r
  boom.\r\nBEGIN:VALARM\r\nDESCRIPTION:Alarm\r\nEND:VALARM\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:Fair\r
DTSTART;VALUE=DATE:20260501\r\nDTEND;VALUE=DATE:20260503\r\nORGANIZER;CN="Doe, Jane":mailto:j@x.y\r
END:VEVENT\r\nBEGIN:VTODO\r\nSUMMARY:Paint\r\nDUE:20260601T120000Z\r\nEND:VTODO\r\nBEGIN:VEVENT\r
SUMMARY:Call\r\nDTSTART:20260501T230000Z\r\nDURATION:PT2H30M\r\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=5\r
END:VEVENT\r\nEND:VCALENDAR\r\n"""
READ_CALENDAR = """# Crane test

When: 12 May 2026, 09:00 to 11:30 (Europe/Berlin)

Place: Pier 4, north

Repeats: every 2 weeks on Tuesday, Friday, until 30 June 2026

Bring the long boom.

# Fair

When: 1 May 2026 to 2 May 2026

Organizer: Doe, Jane <j@x.y>

# Paint

Due: 1 June 2026, 12:00 (UTC)

# Call

When: 1 May 2026, 23:00 to 2 May 2026, 01:30 (UTC)

Repeats: every month on the last Friday, 5 times"""


@pytest.mark.parametrize("name", ["port.ics", "port.txt", "port"])
def test_calendars(name):
    document = read(name, CALENDAR)
    assert document.text == READ_CALENDAR
    assert document.title == "port"


CARDS = f"""BEGIN:VCARD
VERSION:3.0
N:Doe;Jane;;Dr.;
FN:Jane Doe
ORG:Harbour;Pilots
TEL;TYPE=WORK,VOICE:+49 40 1234
item1.EMAIL;TYPE=INTERNET:jane@x.org
ADR;TYPE=HOME:;;Pier 4;Hamburg;;20457;Germany
BDAY:1980-03-15
PHOTO;ENCODING=b;TYPE=JPEG:{PICTURE[:300]}
NOTE:Speaks Danish\\, too.
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg=
;;;
TEL;CELL;PREF:0171
END:VCARD
BEGIN:VCARD
VERSION:4.0
FN:李伟
TEL;VALUE=uri;TYPE="voice,home":tel:+86-10-555
BDAY:--0203
END:VCARD
"""


@pytest.mark.parametrize("name", ["people.vcf", "people.txt"])
def test_address_books(name):
    assert read(name, CARDS).text == (
        "# Jane Doe\n\nOrganization: Harbour, Pilots\n\nPhone (work): +49 40 1234\n\n"
        "E-mail: jane@x.org\n\n"
        "Address (home): Pier 4, Hamburg, 20457, Germany\n\nBirthday: 15 March 1980\n\n"
        "Speaks Danish, too."
        "\n\n# Jörg Müller\n\nPhone (cell): 0171\n\n# 李伟\n\nPhone (home): +86-10-555\n\n"
        "Birthday: 3 February"
    )


TEX = r"""\documentclass{article} % a comment
\title{Die Br\"ucke}\author{Ada}
\begin{document}\maketitle
\section{Old bridge}\label{sec:old}
The \textbf{stone} bridge opened in 1784~\cite{x}. It costs 5\,\% of \$3, $x_1$.\footnote{By Jan.}
Caf\'e --- ``fine''.
\begin{equation}
E = mc^2
\end{equation}
\begin{itemize}
\item an arch % comment
  \begin{enumerate}\item first\end{enumerate}
\item[Gate] of iron
\end{itemize}
\begin{table}\centering\caption{Prices}
\begin{tabular}{l|r}\hline
Name & Price \\ \hline
Berth & 43 \\
\end{tabular}\end{table}
\begin{lstlisting}[language=Python]
def f(x):  # 50%
    return x & 1
\end{lstlisting}
See \href{http://x}{the page} and \verb|a_b|.
\end{document}"""
READ_TEX = """# Die Brücke

Ada

## Old bridge

The stone bridge opened in 1784. It costs 5 % of $3, $x_1$. (By Jan.)
Café — “fine”.

E = mc^2

- an arch
  1. first
- Gate: of iron

Prices

| Name | Price |
| --- | --- |
| Berth | 43 |

```python
def f(x):  # 50%
    return x & 1
```

See the page and a_b."""
ADOC = """= Guide
:toc:

// comment
== Old bridge

The *stone* bridge opened in 1784. See https://x.org[the page] and <<new,the new one>>.

.Parts
* an arch
** inner

. first

Timeout:: The time to wait.

[source,python]
----
x = 1
----

[cols="1,1"]
|===
|Name |Price

|Berth |43
|Pier
|50
|===
"""
READ_ADOC = """# Guide

## Old bridge

The stone bridge opened in 1784. See the page and the new one.

Parts

- an arch
  - inner

1. first

**Timeout**

The time to wait.

```python
x = 1
```

| Name | Price |
| --- | --- |
| Berth | 43 |
| Pier | 50 |"""
ORG = """#+TITLE: Guide
#+AUTHOR: Ada
* TODO [#A] Old bridge :stone:work:
:PROPERTIES:
:ID: 1234
:END:
The bridge opened in 1784. See [[https://x][the page]].
- Timeout :: the time
| Name | Price |
|------+-------|
| Berth | 43 |
#+begin_src python
x = 1
#+end_src
#+begin_quote
Said.
#+end_quote
** Inner
End."""
READ_ORG = """# Guide

# Old bridge

The bridge opened in 1784. See the page.

- Timeout: the time

| Name | Price |
| --- | --- |
| Berth | 43 |

```python
x = 1
```

Said.

## Inner

End."""


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [("a.tex", TEX, READ_TEX), ("a.adoc", ADOC, READ_ADOC), ("a.org", ORG, READ_ORG)],
)
def test_markup(name, data, text):
    assert read(name, data).text == text


@pytest.mark.parametrize(
    ("name", "data", "suffix"),
    [
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".eml"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ".docx"),
        ("a.pages", make_zip({"Index/Document.iwa": b"x"}), ".docx"),
        ("a.djvu", b"AT&TFORM" + bytes(range(256)), ".pdf"),
        ("a.azw3", bytes(range(256)) * 9, ".epub"),
    ],
)
def test_files_of_other_programs_are_refused_with_a_way_out(name, data, suffix):
    with pytest.raises(LoadError) as caught:
        read(name, data)
    assert caught.value.reason == "unsupported"
    assert suffix in caught.value.fix


def test_questions_about_notebooks_calendars_and_cards(tmp_path):
    files = {"tide.ipynb": NOTEBOOK, "port.ics": CALENDAR, "people.vcf": CARDS, "l.rtf": RTF}
    files["notes.enex"] = NOTES
    answers = ask(
        tmp_path,
        files,
        "What is the RMSE?",
        "When is the crane test?",
        "What is Jane Doe's phone number?",
        "Wo hängt der Schlüssel?",
        "What is the gate code?",
    )
    for answer, expected in zip(
        answers, ("0.42", "12 May 2026", "+49 40 1234", "Büro", "4711"), strict=True
    ):
        assert expected in answer


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"text/html": "<p>Berth 12</p>", "text/plain": "<IPython.core.HTML>"}, "Berth 12"),
        ({"text/latex": "$x$", "text/plain": "<IPython.core.Math>"}, "$x$"),
        ({"application/json": {"a": 4}, "text/plain": "<JSON>"}, '```json\n{\n "a": 4\n}\n```'),
        ({"text/html": "<p>4</p>", "text/plain": "4"}, "```\n4\n```"),
    ],
)
def test_outputs_that_are_objects(data, shown):
    cell = {"cell_type": "code", "source": "", "outputs": [{"data": data}]}
    assert read("n.ipynb", json.dumps({"nbformat": 4, "cells": [cell]})).text == shown


def test_exceptions_and_answers_of_events():
    text = read(
        "p.ics",
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Test\nDTSTART:20260512T090000\nRRULE:FREQ=WEEKLY\n"
        "EXDATE:20260519T090000,20260526T090000\nATTENDEE;CN=Bo;PARTSTAT=DECLINED:mailto:b@x.y\n"
        "END:VEVENT\nBEGIN:VEVENT\nSUMMARY:Test\nRECURRENCE-ID:20260602T090000\n"
        "DTSTART:20260603T140000\nEND:VEVENT\nEND:VCALENDAR\n",
    ).text
    assert "Except: 19 May 2026, 09:00, 26 May 2026, 09:00" in text
    assert "Attendees: Bo <b@x.y> (declined)" in text
    assert "When: 3 June 2026, 14:00\n\nInstead of: 2 June 2026, 09:00" in text


def test_the_texts_of_a_drawing_are_read():
    drawing = "<svg><title>Plan</title><text>Gate <tspan>4711</tspan></text><path d='M1'/></svg>"
    assert read("plan.svg", drawing).text == "Plan Gate 4711"
    assert "Gate 4711" in read("a.html", f"<h1>A</h1><p>See the plan.</p>{drawing}").text


def test_open_dialogs_and_shadow_roots_are_read():
    page = (
        "<h1>Port</h1><dialog open><p>Gate 4711.</p></dialog><dialog><p>Closed.</p></dialog>"
        "<div><template shadowrootmode=open><p>Rope 30.</p></template></div>"
    )
    assert read("a.html", page).text == "# Port\n\nGate 4711.\n\nRope 30."
