"""Charts, diagrams, comments, equations and numbers of slides are read as they are shown."""

import io

import pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches
from tests.faults.office_xml import declared
from tests.faults.small_files import ask, read

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
PLACE = (Inches(1), Inches(1), Inches(4), Inches(3))


def deck(build, lines=()):
    """Return a file of one slide with the title "Cargo" and an item for each line."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1 if lines else 5])
    slide.shapes.title.text = "Cargo"
    if lines:
        slide.placeholders[1].text_frame.text = "\n".join(lines)
    build(slide)
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def text(build, lines=()):
    return read("a.pptx", deck(build, lines)).text.partition("\n\n")[2]


def add(slide, xml):
    slide.shapes._spTree.append(etree.fromstring(declared(xml)))


def relate(part, kind, key, xml):
    name = PackURI(f"/ppt/x/{key}.xml")
    other = Part(name, "application/xml", part.package, declared(xml).encode())
    return part.relate_to(other, KINDS + kind)


def cargo(slide, kind=XL_CHART_TYPE.COLUMN_CLUSTERED):
    data = CategoryChartData()
    data.categories = ["Coal", "Grain", "Wood"]
    data.add_series("2026", (120, 340, 75))
    chart = slide.shapes.add_chart(kind, *PLACE, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Cargo by kind"
    return chart


@pytest.mark.parametrize("kind", ["COLUMN_CLUSTERED", "PIE", "LINE", "BAR_STACKED_100"])
def test_charts_are_tables(kind):
    assert text(lambda slide: cargo(slide, getattr(XL_CHART_TYPE, kind))).split("\n\n") == [
        "Cargo by kind",
        "|  | 2026 |\n| --- | --- |\n| Coal | 120 |\n| Grain | 340 |\n| Wood | 75 |",
    ]


def test_a_chart_answers(tmp_path):
    [answer] = ask(tmp_path, {"cargo.pptx": deck(cargo)}, "How much grain was there in 2026?")
    assert "340" in answer


def test_axes_dates_and_levels_of_charts():
    def build(slide):
        chart = cargo(slide)
        chart.value_axis.axis_title.text_frame.text = "tonnes"
        chart.category_axis.axis_title.text_frame.text = "Kind"
        points = XyChartData()
        pump = points.add_series("Pump")
        pump.add_data_point(1, 2.5)
        slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *PLACE, points)
        data = CategoryChartData(number_format="0%")
        year = data.add_category("2024")
        year.add_sub_category("Q1")
        year.add_sub_category("Q2")
        data.add_series("Share", (0.25, 0.75))
        slide.shapes.add_chart(XL_CHART_TYPE.LINE, *PLACE, data)

    found = text(build)
    assert "| Kind | 2026 (tonnes) |" in found
    assert "| 1 | 2.5 |" in found
    assert "| 2024 Q1 | 25% |\n| 2024 Q2 | 75% |" in found


FRAME = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="x" descr="{}"/>'
    "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic>"
    "<a:graphicData uri='x'>{}</a:graphicData></a:graphic></p:graphicFrame>"
)


def test_diagrams_and_frames_that_cannot_be_read():
    point = (
        '<dgm:pt modelId="{0}"><dgm:t><a:p><a:r><a:t>Step {0}</a:t></a:r></a:p></dgm:t></dgm:pt>'
    )
    points = "".join(map(point.format, (1, 2)))

    def build(slide):
        model = f"<dgm:dataModel><dgm:ptLst>{points}</dgm:ptLst></dgm:dataModel>"
        key = relate(slide.part, "diagramData", "d", model)
        add(slide, FRAME.format("", f'<dgm:relIds r:dm="{key}"/>'))
        add(slide, FRAME.format("The yard from above", '<p:oleObj progId="Excel"/>'))
        add(slide, FRAME.format("", '<dgm:relIds r:dm="none"/>'))

    document = read("a.pptx", deck(build))
    assert document.text.split("\n\n")[1:] == [
        "- Step 1\n- Step 2",
        "Picture: The yard from above",
    ]
    assert document.metadata["unread"] == "1 embedded file, 1 diagram"


def test_comments_of_both_forms():
    def build(slide):
        package = slide.part.package.presentation_part
        relate(
            package,
            "commentAuthors",
            "a",
            '<p:cmAuthorLst><p:cmAuthor id="0" name="Ada"/></p:cmAuthorLst>',
        )
        relate(
            package, "authors", "b", '<p:authorLst><p:author id="{B}" name="李伟"/></p:authorLst>'
        )
        relate(
            slide.part,
            "comments",
            "c",
            '<p:cmLst><p:cm authorId="0"><p:text>Is this so?</p:text></p:cm></p:cmLst>',
        )
        body = "<{0}><a:p><a:r><a:t>{1}</a:t></a:r></a:p></{0}>"
        reply = body.format("p:txBody", "不是这样。")
        relate(
            slide.part,
            "comments",
            "d",
            f'<p:cmLst><p:cm authorId="9"><p:replyLst><p:reply authorId="{{B}}">{reply}</p:reply>'
            f"</p:replyLst>{body.format('p:txBody', 'Nobody knows.')}</p:cm></p:cmLst>",
        )

    assert text(build).split("\n\n") == [
        *("Comment by Ada: Is this so?", "批注（李伟）：不是这样。", "Comment: Nobody knows."),
    ]


BOX = (
    '<p:sp><p:nvSpPr><p:cNvPr id="7" name="x" {}/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
    "<p:txBody><a:bodyPr/><a:p>{}</a:p></p:txBody></p:sp>"
)


def test_equations_alternatives_and_hidden_shapes():
    half = (
        "<a:r><a:t>Half: </a:t></a:r><a14:m><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></a14:m>"
    )

    def build(slide):
        old = BOX.format("", "<a:r><a:t>too old</a:t></a:r>")
        add(
            slide,
            f'<mc:AlternateContent><mc:Choice Requires="a14">{BOX.format("", half)}</mc:Choice>'
            f"<mc:Fallback>{old}</mc:Fallback></mc:AlternateContent>",
        )
        add(slide, BOX.format('hidden="1"', "<a:r><a:t>hidden</a:t></a:r>"))

    assert text(build) == "Half: a/2"


@pytest.mark.parametrize(
    ("kind", "start", "shown"),
    [
        ("arabicPeriod", "4", "4. A\n5. B"),
        ("arabicParenR", None, "1) A\n2) B"),
        ("alphaLcParenBoth", "3", "- (c) A\n- (d) B"),
        ("alphaUcPeriod", None, "- A. A\n- B. B"),
        ("romanUcPeriod", "4", "- IV. A\n- V. B"),
        ("romanLcParenR", None, "- i) A\n- ii) B"),
        ("circleNumDbPlain", None, "- ① A\n- ② B"),
        ("ea1ChsPeriod", None, "- 一. A\n- 二. B"),
        ("unknown", "x", "1. A\n2. B"),
    ],
)
def test_numbers_of_items(kind, start, shown):
    def build(slide):
        for paragraph in slide.placeholders[1].text_frame.paragraphs:
            mark = etree.SubElement(paragraph._p.get_or_add_pPr(), f"{A}buAutoNum", type=kind)
            if start:
                mark.set("startAt", start)

    assert text(build, ("A", "B")) == shown


def test_raised_and_struck_text():
    def build(slide):
        frame = slide.shapes.add_textbox(*PLACE).text_frame
        for words, look in (
            ("The fee is 30", {}),
            ("1", {"baseline": "30000"}),
            (" crowns, not ", {}),
            ("900", {"strike": "sngStrike"}),
            ("2", {}),
            ("10", {"baseline": "30%"}),
            (".", {"baseline": "0"}),
        ):
            added = frame.paragraphs[0].add_run()
            added.text = words
            for name, value in look.items():
                added._r.get_or_add_rPr().set(name, value)

    assert text(build) == "The fee is 30 [^1] crowns, not 2^10."


def test_two_header_rows_of_a_table():
    def build(slide):
        rows = (("Crane", "Load (t)", ""), ("", "Near", "Far"), ("C1", "40", "18"))
        made = slide.shapes.add_table(3, 3, *PLACE).table
        for number, cells in enumerate(rows):
            for column, words in enumerate(cells):
                made.cell(number, column).text = words
        made.cell(0, 1).merge(made.cell(0, 2))
        made.cell(0, 0).merge(made.cell(1, 0))

    assert text(build).split("\n") == [
        *("| Crane | Load (t) Near | Load (t) Far |", "| --- | --- | --- |", "| C1 | 40 | 18 |"),
    ]


def test_raised_and_struck_text_of_speaker_notes():
    def build(slide):
        paragraph = slide.notes_slide.notes_text_frame.paragraphs[0]
        for words, name, value in (
            ("The fee is 30", "", ""),
            ("1", "baseline", "30000"),
            (" crowns, not ", "", ""),
            ("900", "strike", "sngStrike"),
            ("750.", "strike", "noStrike"),
        ):
            added = paragraph.add_run()
            added.text = words
            if name:
                added._r.get_or_add_rPr().set(name, value)

    assert text(build) == "The fee is 30 [^1] crowns, not 750."
