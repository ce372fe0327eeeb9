"""Notes, comments, charts, diagrams, equations, forms and page headers of Word files are read."""

import pytest
from tests.faults.office_xml import cell, paragraph, row, run, styled, table, word
from tests.faults.small_files import ask, read

NOTED = "[^1] With the short boom only; with the long boom the limit is 18 tonnes."
NOTE = '<w:footnote w:id="{}"><w:p><w:r><w:footnoteRef/></w:r>{}</w:p></w:footnote>'
FOOTNOTES = (
    '<w:footnotes><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p>'
    "</w:footnote>"
    + NOTE.format(2, run(" With the short boom only; with the long boom the limit is 18 tonnes."))
    + NOTE.format(3, run("Second."))
    + "</w:footnotes>"
)
ENDNOTES = (
    '<w:endnotes><w:endnote w:id="2"><w:p><w:r><w:t>Built in 1911.</w:t></w:r></w:p></w:endnote>'
    "</w:endnotes>"
)
COMMENTS = (
    '<w:comments><w:comment w:id="0" w:author="Ada"><w:p><w:r><w:annotationRef/></w:r>'
    '<w:r><w:t>Is this so?</w:t></w:r></w:p></w:comment><w:comment w:id="1" w:author="李伟"><w:p>'
    "<w:r><w:t>请核对这个数字。</w:t></w:r></w:p></w:comment></w:comments>"
)


def note(number, kind="footnote"):
    raised = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    return f'<w:r>{raised}<w:{kind}Reference w:id="{number}"/></w:r>'


def text(body, *parts, **more):
    return read("a.docx", word(body, parts=parts, **more)).text


def test_notes_and_comments_are_below_their_paragraphs():
    body = (
        f"<w:p>{run('The load limit is 40 tonnes')}{note(2)}{run('.')}</w:p>"
        f"<w:p>{run('The first lock is at Ulm.')}{note(2, 'endnote')}{note(0, 'comment')}</w:p>"
        f'<w:p><w:pPr><w:pStyle w:val="ListBullet"/></w:pPr>{run("One")}{note(3)}</w:p>'
        f"{styled('Two', 'ListBullet')}<w:p>{run('数字')}{note(1, 'comment')}</w:p>"
    )
    found = text(
        body,
        ("footnotes", "n1", FOOTNOTES),
        ("endnotes", "n2", ENDNOTES),
        ("comments", "n3", COMMENTS),
    )
    assert found.split("\n\n") == [
        "The load limit is 40 tonnes [^1].\n" + NOTED,
        "The first lock is at Ulm.[^i]\n[^i] Built in 1911.\nComment by Ada: Is this so?",
        "- One [^2]\n  [^2] Second.\n- Two",
        "数字\n批注（李伟）：请核对这个数字。",
    ]


def test_notes_of_a_table_are_below_it():
    noted = f"<w:p>{run('40 t')}{note(2)}</w:p>"
    body = table(("Boom", "Load"), ("short", noted)) + paragraph("Text.")
    found = text(body, ("footnotes", "n1", FOOTNOTES)).split("\n\n")
    assert found[0].endswith("| short | 40 t [^1] |")
    assert found[1].startswith("[^1] With the short boom only")
    assert found[2] == "Text."


def test_a_note_answers(tmp_path):
    body = f"<w:p>{run('The load limit of the crane is 40 tonnes')}{note(2)}{run('.')}</w:p>"
    data = word(body, parts=[("footnotes", "n1", FOOTNOTES)])
    asked = "What is the load limit of the crane with the long boom?"
    assert "18 tonnes" in ask(tmp_path, {"crane.docx": data}, asked)[0]


SQUARE = "<m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"


@pytest.mark.parametrize(
    "form", ["<m:oMath>{}</m:oMath>", "<m:oMathPara><m:oMath>{}</m:oMath></m:oMathPara>"]
)
def test_equations_are_text(form):
    body = f"<w:p>{run('The area is ')}{form.format(SQUARE)}{run('.')}</w:p>"
    assert text(body) == "The area is r^2."
    assert "r^2" in text(table(("Form", "Area"), ("disc", f"<w:p>{form.format(SQUARE)}</w:p>")))


WRAPPERS = (
    "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
    '<w:customXml w:element="x"><w:customXmlPr/>{}</w:customXml>',
    "<w:sdt><w:sdtContent><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:sdtContent></w:sdt>",
    "<w:ins>{}</w:ins>",
)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_content_controls_are_read_everywhere(wrapper):
    head = row(("Station", "Depth"))
    assert text(f"<w:tbl>{head}{wrapper.format(row(('Vik', '4.1')))}</w:tbl>").endswith(
        "| Vik | 4.1 |"
    )
    held = f"<w:tr>{cell('Vik')}{wrapper.format(cell('4.1'))}</w:tr>"
    assert text(f"<w:tbl>{head}{held}</w:tbl>").endswith("| Vik | 4.1 |")
    assert text(wrapper.format(paragraph("Text."))) == "Text."
    smart = f"<w:smartTag>{wrapper.format(run('Vik'))}</w:smartTag>"
    assert text(f"<w:p>{smart}{run(' Quay')}</w:p>") == "Vik Quay"


def test_the_prompt_of_an_empty_control_is_no_text():
    prompt = "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    body = f"<w:p>{run('Ship: ')}{prompt.format(run('Click to enter text.'))}</w:p>"
    assert text(body) == "Ship:"


FIELD = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r>'


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>", "☒ Insured"),
        ("<w:checkBox><w:default w:val='1'/></w:checkBox>", "☒ Insured"),
        ("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "☐ Insured"),
        (
            "<w:ddList><w:result w:val='1'/><w:listEntry/><w:listEntry w:val='B'/></w:ddList>",
            "B Insured",
        ),
        ("<w:ddList><w:listEntry w:val='A'/></w:ddList>", "A Insured"),
        ("<w:ddList><w:result w:val='99'/></w:ddList>", "Insured"),
    ],
)
def test_fields_of_old_forms(data, shown):
    code = "<w:r><w:instrText> FORM </w:instrText></w:r>"
    assert text(f"<w:p>{FIELD.format(data)}{code}{run(' Insured')}</w:p>").strip() == shown


BOX = "<w:txbxContent>{}</w:txbxContent>"


def test_a_text_box_is_read_once():
    shape = f"<w:drawing><wp:inline><wps:wsp>{BOX}</wps:wsp></wp:inline></w:drawing>"
    old = f"<w:pict><v:shape><v:textbox>{BOX}</v:textbox></v:shape></w:pict>"
    inner = paragraph("In the box.")
    both = (
        f'<mc:AlternateContent><mc:Choice Requires="wps">{shape.format(inner)}</mc:Choice>'
        f"<mc:Fallback>{old.format(inner)}</mc:Fallback></mc:AlternateContent>"
    )
    for drawn in (both, shape.format(inner), old.format(inner)):
        assert text(f"<w:p><w:r>{drawn}</w:r>{run('Anchor.')}</w:p>") == "Anchor.\n\nIn the box."
    held = table(("A", f"<w:p><w:r>{both}</w:r>{run('Cell.')}</w:p>"), ("B", "C"))
    assert text(held).endswith("| B | C |\n\nIn the box.")


def chart(series, *, title="", kind="bar"):
    name = f"<c:title><c:tx><c:rich>{rich(title)}</c:rich></c:tx></c:title>" if title else ""
    return (
        f"<c:chartSpace><c:chart>{name}<c:plotArea><c:{kind}Chart>{series}</c:{kind}Chart>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )


def rich(words):
    return f"<a:p><a:r><a:t>{words}</a:t></a:r></a:p>"


def series(name, categories, values, form="General"):
    def points(found):
        return "".join(f'<c:pt idx="{n}"><c:v>{v}</c:v></c:pt>' for n, v in found.items())

    return (
        f"<c:ser><c:tx><c:strRef><c:strCache>{points({0: name})}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{points(categories)}</c:strCache></c:strRef></c:cat><c:val>"
        f"<c:numRef><c:numCache><c:formatCode>{form}</c:formatCode>{points(values)}</c:numCache>"
        "</c:numRef></c:val></c:ser>"
    )


KINDS = {0: "Coal", 1: "Grain", 2: "Wood"}
GRAPHIC = (
    '<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" descr="{}"/>{}</wp:inline></w:drawing></w:r>'
    "</w:p>"
)
CHART = GRAPHIC.format(
    "", '<a:graphic><a:graphicData><c:chart r:id="g1"/></a:graphicData></a:graphic>'
)


def test_charts_are_tables():
    both = series("2025", KINDS, {0: 120, 2: 75}) + series("2026", KINDS, {0: 0.25, 2: 0.3}, "0%")
    found = text(CHART, ("chart", "g1", chart(both, title="Cargo by kind")))
    assert found.split("\n\n") == [
        "Cargo by kind",
        "|  | 2025 | 2026 |\n| --- | --- | --- |\n| Coal | 120 | 25% |\n| Wood | 75 | 30% |",
    ]
    pie = chart(series("吨数", KINDS, {0: 0.30000000000000004}), kind="pie")
    assert text(CHART, ("chart", "g1", pie)).startswith(
        "吨数\n\n|  | 吨数 |\n| --- | --- |\n| Coal | 0.3 |"
    )


@pytest.mark.parametrize("part", [chart(""), chart("<c:ser/>"), "<c:chartSpace"])
def test_charts_that_cannot_be_read_are_counted(part):
    data = word(paragraph("Text.") + CHART, parts=[("chart", "g1", chart(""))])
    assert read("a.docx", data).metadata["unread"] == "1 chart"
    data = word(
        paragraph("Text.")
        + CHART.replace("g1", "none")
        + "<w:p><w:r><w:object><o:OLEObject/></w:object></w:r></w:p>"
    )
    assert read("a.docx", data).metadata["unread"] == "1 chart, 1 embedded file"


DIAGRAM = (
    '<dgm:dataModel><dgm:ptLst><dgm:pt modelId="0" type="doc"/>'
    + "".join(
        f'<dgm:pt modelId="{key}"><dgm:t>{rich(words)}</dgm:t></dgm:pt>'
        for key, words in ((1, "Ada, director"), (2, "Bo, pilot"), (3, "Cid, crane"))
    )
    + "</dgm:ptLst><dgm:cxnLst>"
    + "".join(
        f'<dgm:cxn modelId="9{above}{below}" srcId="{above}" destId="{below}" srcOrd="{order}"/>'
        for above, below, order in ((0, 1, 0), (1, 3, 1), (1, 2, 0), (3, 1, 0))
    )
    + "</dgm:cxnLst></dgm:dataModel>"
)


def test_diagrams_are_lists():
    shown = GRAPHIC.format(
        "", '<a:graphic><a:graphicData><dgm:relIds r:dm="g1"/></a:graphicData></a:graphic>'
    )
    found = text(shown, ("diagramData", "g1", DIAGRAM))
    assert found == "- Ada, director\n  - Bo, pilot\n  - Cid, crane"


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Flow chart of the lock", "Picture: Flow chart of the lock"),
        ("船闸流程图", "图片：船闸流程图"),
        (
            "A dog&#10;&#10;Description automatically generated with low confidence",
            "Picture: A dog",
        ),
        ("photo_2041.JPG", ""),
    ],
)
def test_descriptions_of_pictures(description, shown):
    assert text(paragraph("Text.") + GRAPHIC.format(description, "")) == f"Text.\n\n{shown}".strip()


def test_page_headers_that_say_more_are_at_the_end():
    header = f"<w:hdr>{styled('Lease', 'Header')}{paragraph('Jane Doe, 4 Quay Street')}</w:hdr>"
    footer = (
        f"<w:ftr>{paragraph('Page 3 of 4')}{paragraph('电话 555-0142')}{paragraph('- 3 -')}</w:ftr>"
    )
    first = f"<w:hdr>{paragraph('Only on a title page')}</w:hdr>"
    section = (
        '<w:headerReference w:type="first" r:id="h1"/><w:headerReference w:type="default" '
        'r:id="h2"/><w:footerReference w:type="default" r:id="h3"/>'
    )
    found = text(
        styled("Lease", "Heading1") + paragraph("It runs."),
        *(("header", "h1", first), ("header", "h2", header), ("footer", "h3", footer)),
        section=section,
    )
    assert found.split("\n\n") == [
        "# Lease",
        "It runs.",
        "Jane Doe, 4 Quay Street",
        "电话 555-0142",
    ]
