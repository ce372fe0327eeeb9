"""Raised figures, struck and hidden text, and numbers of lists, in formats other than Word's."""

import pytest
from tests.faults.small_files import read
from tests.indexing.office_files import ODF_NAMES, make_odf, make_zip


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (r"It costs 30{\super 1} crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30\super 1\nosupersub  crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30{\up6 1} crowns.", "It costs 30 [^1] crowns."),
        (r"It costs 30\up6 1\up0  crowns.", "It costs 30 [^1] crowns."),
        (r"It costs {\b 30}{\b\super 1}\plain  crowns.", "It costs 30 [^1] crowns."),
        (r"{\up2 It} costs {\dn1 30}.", "It costs 30."),
        (r"2{\super 10}, 40 m{\super 2}, H{\sub 2}O, H{\dn4 2}O", "2^10, 40 m², H2O, H2O"),
        (r"\'b9\'b2 30{\super\f0 1}.", "¹² 30 [^1]."),
        (
            r"30{\super\chftn{\footnote \super\chftn\nosupersub  Paid.}} x",
            "30 [^1] x\n\n[^1] Paid.",
        ),
        (r"30 {\strike 25 }{\striked1 20 }{\v 15 }{\strike0 10} x", "30 10 x"),
        (r"30 \strike 25 \strike0 20 \striked1 15 \striked0 x", "30 20 x"),
        (r"30 \deleted 25 \deleted0 20{\deleted 15} x", "30 20 x"),
        (r"30 {\deleted 25\par}x\par Next.", "30 x\n\nNext."),
        (r"30 {\deleted 25{\footnote Gone.}}x", "30 x"),
        (
            r"Name\cell a\cell\row 30{\super 1}\cell {\strike 25}20\cell\row",
            "| Name | a |\n| --- | --- |\n| 30 [^1] | 20 |",
        ),
    ],
)
def test_rich_text_has_raised_figures_and_no_struck_text(held, text):
    assert read("a.rtf", rf"{{\rtf1\ansi {held}\par}}").text == text


def text_style(name, properties, family="text"):
    return (
        f'<style:style style:name="{name}" style:family="{family}">'
        f"<style:text-properties {properties}/></style:style>"
    )


def list_style(name, *levels):
    held = "".join(
        f'<text:list-level-style-number text:level="{place}" {level}/>'
        for place, level in enumerate(levels, start=1)
    )
    return f'<text:list-style style:name="{name}">{held}</text:list-style>'


STYLES = (
    text_style("Up", 'style:text-position="super 58%"')
    + text_style("High", 'style:text-position="33% 58%"')
    + text_style("Low", 'style:text-position="sub 58%"')
    + text_style("Level", 'style:text-position="0% 100%"')
    + text_style("Old", 'style:text-line-through-style="solid"')
    + text_style("Kept", 'style:text-line-through-style="none"')
    + text_style("Gone", 'text:display="none"')
    + '<style:style style:name="Up2" style:parent-style-name="Up"/>'
    + list_style(
        "Letters",
        'style:num-format="a" style:num-prefix="(" style:num-suffix=")"',
        'style:num-format="i" style:num-suffix="."',
    )
    + list_style(
        "Legal",
        'style:num-format="1" style:num-suffix="."',
        'style:num-format="1" style:num-suffix="." text:display-levels="2"',
    )
    + list_style("Fifth", 'style:num-format="1" style:num-suffix="." text:start-value="5"')
)


def span(style, text):
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def items(style, *held, more=""):
    inner = "".join(f"<text:list-item>{each}</text:list-item>" for each in held)
    return f'<text:list text:style-name="{style}" {more}>{inner}</text:list>'


def p(text, more=""):
    return f"<text:p {more}>{text}</text:p>"


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (p(f"It costs 30{span('Up', '1')} crowns."), "It costs 30 [^1] crowns."),
        (p(f"It costs 30{span('High', '1')} crowns."), "It costs 30 [^1] crowns."),
        (p(f"It costs 30{span('Up2', '1')} crowns."), "It costs 30 [^1] crowns."),
        (p(f"2{span('Up', '10')}, H{span('Low', '2')}O, 3{span('Level', '0')}"), "2^10, H2O, 30"),
        (p(f"30 {span('Old', '25 ')}{span('Kept', '20')}{span('Gone', '15')}"), "30 20"),
        (p("25", 'text:style-name="Old"') + p("20", 'text:style-name="Gone"') + p("x"), "x"),
        (f'<text:section text:display="none">{p("25")}</text:section>{p("30")}', "30"),
        (p('25<text:hidden-paragraph text:is-hidden="true"/>') + p("30"), "30"),
        (p('25<text:hidden-paragraph text:is-hidden="false"/>'), "25"),
        (p('30<text:hidden-text text:is-hidden="true">25</text:hidden-text> x'), "30 x"),
        (items("Letters", p("one"), p("two")), "- (a) one\n- (b) two"),
        (
            items("Letters", p("one") + items("", p("in"), p("in")), p("two")),
            "- (a) one\n  - i. in\n  - ii. in\n- (b) two",
        ),
        (
            items("Legal", p("one") + items("", p("in"), p("in"))),
            "1. one\n   - 1.1. in\n   - 1.2. in",
        ),
        (items("Fifth", p("one"), p("two")), "5. one\n6. two"),
        (
            items("Legal", p("one"))
            + p("Between.")
            + items("Legal", p("two"), more='text:continue-numbering="true"')
            + items("Legal", p("new")),
            "1. one\n\nBetween.\n\n2. two\n\n1. new",
        ),
        (
            items("Legal", p("one")).replace("item>", 'item text:start-value="7">', 1),
            "7. one",
        ),
    ],
)
def test_texts_of_libreoffice_have_raised_figures_and_numbers_of_lists(held, text):
    document = read("a.odt", make_odf(f"<office:text>{held}</office:text>", styles=STYLES))
    assert document.text == text


def test_styles_of_pages_do_not_change_the_text():
    names = ODF_NAMES
    mark = text_style("Mark", 'style:text-position="super 58%"')
    gone = text_style("T1", 'text:display="none"')
    content = (
        f"<office:document-content {names}><office:automatic-styles>"
        f"{text_style('T1', '')}</office:automatic-styles><office:body><office:text>"
        f"{p('30' + span('T1', '5') + span('Mark', '1'))}</office:text></office:body>"
        "</office:document-content>"
    )
    styles = (
        f"<office:document-styles {names}><office:styles>"
        f"{mark}</office:styles><office:automatic-styles>{gone}"
        "</office:automatic-styles></office:document-styles>"
    )
    data = make_zip({"META-INF/manifest.xml": "<x/>", "content.xml": content, "styles.xml": styles})
    assert read("a.odt", data).text == "305 [^1]"


def test_sheets_of_libreoffice_have_raised_figures():
    def row(*cells):
        held = "".join(f"<table:table-cell>{p(cell)}</table:table-cell>" for cell in cells)
        return f"<table:table-row>{held}</table:table-row>"

    sheet = row("Name", "Price") + row("Old", f"30{span('Up', '1')} kr {span('Old', '25')}")
    table = f'<table:table table:name="P">{sheet}</table:table>'
    body = f"<office:spreadsheet>{table}</office:spreadsheet>"
    text = read("a.ods", make_odf(body, styles=STYLES)).text
    assert text.endswith("| Old | 30 [^1] kr |")


TWO_LISTS = "1. one\n2. two\n\n1. new"
ITEMS = r"\item one \item two\end{enumerate}"


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (r"30\textsuperscript{1} kr, 2\textsuperscript{10}", "30 [^1] kr, 2^10"),
        (r"H\textsubscript{2}O, 30\footnotemark{} kr", "H2O, 30 [^1] kr"),
        (r"30\footnotemark[2] kr, 40\footnotemark{} x", "30 [^2] kr, 40 [^3] x"),
        (r"30 \sout{25 \textbf{x} }\st{20 }kr", "30 kr"),
        (r"\begin{enumerate}\setcounter{enumi}{4}" + ITEMS, "5. one\n6. two"),
        (r"\begin{enumerate}[start=5]" + ITEMS, "5. one\n6. two"),
        (r"\begin{enumerate}[label=(\alph*), start=3]" + ITEMS, "- (c) one\n- (d) two"),
        (r"\begin{enumerate}[noitemsep,label={\Roman*.}]" + ITEMS, "- I. one\n- II. two"),
        (r"\begin{enumerate}[(a)]" + ITEMS, "- (a) one\n- (b) two"),
        (r"\begin{enumerate}[1.]" + ITEMS, "1. one\n2. two"),
        (r"\begin{enumerate}" + ITEMS + r"\begin{enumerate}\item new\end{enumerate}", TWO_LISTS),
        (
            r"\begin{itemize}\item a \begin{enumerate}[start=5]" + ITEMS + r"\end{itemize}",
            "- a\n  5. one\n  6. two",
        ),
    ],
)
def test_latex_has_raised_figures_and_numbers_of_lists(held, text):
    assert read("a.tex", rf"\begin{{document}}{held}\end{{document}}").text == text


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.adoc", "[start=4]\n. one\n. two\n", "4. one\n5. two"),
        ("a.adoc", ". one\n\n[arabic, start=4]\n. two\n", "1. one\n\n4. two"),
        ("a.adoc", "30 [.line-through]#25# kr [line-through]##x##y\n", "30  kr y"),
        ("a.org", "* A\n5. [@5] one\n6. two\n", "# A\n\n5. one\n6. two"),
        ("a.org", "* A\n30 +25+ kr, 1+2+3, C++ and B+\n", "# A\n\n30  kr, 1+2+3, C++ and B+"),
    ],
)
def test_markup_has_numbers_of_lists_and_no_struck_text(name, data, text):
    assert read(name, data).text == text


@pytest.mark.parametrize("inner", ["<p>{}</p>", "\n<div><p>{}</p></div>", "{}"])
def test_numbers_of_web_pages_stay_with_their_text(inner):
    held = "".join(f"<li>{inner.format(text)}</li>" for text in ("one", "two"))
    assert read("a.html", f'<ol type="a">{held}</ol>').text == "- a. one\n- b. two"
