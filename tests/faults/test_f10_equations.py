"""Equations of MathML and Office as one line of text."""

import re

import pytest
from lxml import etree
from tests.faults.office_xml import word
from tests.faults.small_files import read

from knotwork._extensions.formats.equations import equation_text

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def _parse(markup):
    return etree.fromstring(re.sub(r"\n\s*", "", markup))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E = mc^2"),
        (
            """<mi>A</mi><mo>=</mo><mi>π</mi><mo>&#x2062;</mo><msup><mi>r</mi><mn>2</mn>
            </msup>""",
            "A = πr^2",
        ),
        (
            """<mi>x</mi><mo>=</mo><mfrac><mrow><mo>−</mo><mi>b</mi><mo>±</mo><msqrt><msup>
            <mi>b</mi><mn>2</mn></msup><mo>−</mo><mn>4</mn><mi>a</mi><mi>c</mi></msqrt>
            </mrow><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>""",
            "x = (−b ± sqrt(b^2 − 4ac))/(2a)",
        ),
        (
            """<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi>
            </munderover><msub><mi>x</mi><mi>i</mi></msub>""",
            "sum_(i = 1)^n x_i",
        ),
        (
            "<mfrac><mn>1</mn><mn>2</mn></mfrac><mi>m</mi><msup><mi>v</mi><mn>2</mn></msup>",
            "1/2 mv^2",
        ),
        ("<msup><mn>10</mn><mrow><mo>-</mo><mn>3</mn></mrow></msup>", "10^-3"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "(x)^(1/3)"),
        ("<mi>sin</mi><mo>&#x2061;</mo><mi>x</mi>", "sin x"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", "x\u0304"),
        (
            """<mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr>
            <mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable><mo>)</mo>""",
            "(1, 2; 3, 4)",
        ),
        (
            """<semantics><mrow><mi>a</mi></mrow><annotation encoding='application/x-tex'>\\a
            </annotation></semantics>""",
            "a",
        ),
        (
            """<semantics><mrow/><annotation encoding='application/x-tex'>a^{2}</annotation>
            </semantics>""",
            "a^{2}",
        ),
        (
            "<mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>",
            "_6^14 C",
        ),
    ],
)
def test_mathml_is_read_as_a_line_of_text(markup, text):
    assert equation_text(_parse(f"<math>{markup}</math>")) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            "<r><t>A=π</t></r><sSup><e><r><t>r</t></r></e><sup><r><t>2</t></r></sup></sSup>",
            "A = πr^2",
        ),
        ("<f><fPr/><num><r><t>a+b</t></r></num><den><r><t>2</t></r></den></f>", "(a + b)/2"),
        ("<rad><radPr/><deg/><e><r><t>x</t></r></e></rad>", "sqrt(x)"),
        (
            """<nary><naryPr><chr val='∑'/></naryPr><sub><r><t>i=1</t></r></sub><sup><r><t>n
            </t></r></sup><e><r><t>i</t></r></e></nary>""",
            "sum_(i = 1)^n i",
        ),
        ("<d><e><r><t>x-1</t></r></e></d>", "(x - 1)"),
    ],
)
def test_an_equation_of_office_is_read_as_a_line_of_text(markup, text):
    assert equation_text(_parse(f"<oMath xmlns='{_OFFICE}'>{markup}</oMath>")) == text


def test_a_deep_equation_is_read_to_its_end():
    markup = "<msqrt>" * 240 + "<mi>x</mi>" + "</msqrt>" * 240
    assert "x" in equation_text(etree.fromstring(f"<math>{markup}</math>"))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (r"EQ \f(3,40)", "3/40"),
        (r"eq \o\ac(○,1)", "1"),
        (r"EQ \r(3,x+1)", "(x+1)^(1/3)"),
        (r"EQ x\s\up8(2) + a\s\do4(n)", "x^2 + a_n"),
        (r'EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(とう),東京)', "東京"),
        (r"EQ \f(\r(2,b),2a)", "(sqrt(b))/2a"),
        (r"EQ \f(2(a+b),c)", "(2(a+b))/c"),
        (r"EQ \b\lc\{(\a\al(x=1,y=2))", "x=1,y=2"),
        ("EQ " + r"\f(" * 300, r"\f(" * 300),
    ],
)
def test_fields_that_are_equations(field, text):
    kinds = ("begin", "", "separate", "end")
    runs = (
        f'<w:fldChar w:fldCharType="{kind}"/>' if kind else f"<w:instrText>{field}</w:instrText>"
        for kind in kinds
    )
    body = "".join(f"<w:r>{held}</w:r>" for held in runs)
    paragraph = f'<w:p><w:r><w:t xml:space="preserve">It is </w:t></w:r>{body}</w:p>'
    assert read("a.docx", word(paragraph)).text == f"It is {text}"
