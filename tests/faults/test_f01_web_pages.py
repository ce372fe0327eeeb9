"""What web pages and books show: raised figures, notes, numbers, equations, forms and headers."""

import io
import zipfile

import pytest
from tests.faults.small_files import ask, index_of, read


def epub(**pages):
    """Return a book of some pages."""
    names = "".join(f'<item id="{n}" href="t/{n}.xhtml"/>' for n in pages)
    spine = "".join(f'<itemref idref="{n}"/>' for n in pages)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="E/p.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "E/p.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{names}</manifest>'
            f"<spine>{spine}</spine></package>",
        )
        for name, body in pages.items():
            archive.writestr(
                f"E/t/{name}.xhtml",
                '<html xmlns="http://www.w3.org/1999/xhtml" '
                f'xmlns:epub="http://www.idpf.org/2007/ops"><body>{body}</body></html>',
            )
    return held.getvalue()


def page(body):
    return read("a.html", body).text


def test_raised_and_lowered_figures_stay_apart():
    body = """<p>The fee is 30<sup>1</sup> crowns. It holds 2<sup>10</sup> pallets of
    H<sub>2</sub>O on 40 m<sup>2</sup>, 10<sup>-3</sup> each, on the 1<sup>st</sup>.</p>"""
    right = (
        "The fee is 30 [^1] crowns. It holds 2^10 pallets of H2O on 40 m², 10^-3 each, on the 1st."
    )
    assert page(body) == right
    assert read("a.epub", epub(a=body)).text == right
    table = "<table><tr><th>Berth</th><th>Fee</th></tr><tr><td>A</td><td>30<sup>a</sup></td></tr>"
    assert "| A | 30 [^a] |" in page(table)


def test_raised_text_is_known_by_its_style_and_class_and_raised_further():
    styled = '30<span style="font-size: 60%; vertical-align: super">1</span> H<i class="sub">2</i>O'
    assert page(f"<p>{styled}, 2<sup>2<sup>3</sup></sup></p>") == "30 [^1] H2O, 2^(2^3)"


def test_the_fee_is_answered_without_the_mark_of_its_note(tmp_path):
    body = "<p>The winter fee for a berth is 30<sup>1</sup> crowns.</p><p><sup>1</sup> Net.</p>"
    (answer,) = ask(tmp_path, {"fee.html": body}, "What is the winter fee for a berth?")
    assert "301" not in answer
    assert "30" in answer


_NOTES = {
    "pandoc": """<p>The fee is 30<a href="#fn1" class="footnote-ref" id="fnref1"
    role="doc-noteref"><sup>1</sup></a> crowns.</p><p>Other.</p><section id="footnotes"
    class="footnotes" role="doc-endnotes"><hr><h2>Footnotes</h2><ol><li id="fn1"><p>Without
    tax.<a href="#fnref1" class="footnote-back" role="doc-backlink">↩︎</a></p></li></ol>
    </section>""",
    "Google": """<p>The fee is 30<sup><a href="#ftnt1" id="ftnt_ref1">[1]</a></sup> crowns.</p>
    <p>Other.</p><hr><div><p><a href="#ftnt_ref1" id="ftnt1">[1]</a><span>&nbsp;Without
    tax.</span></p></div>""",
    "Word": """<p>The fee is 30<a href="#_ftn1" name="_ftnref1"><span
    class=MsoFootnoteReference>[1]</span></a> crowns.</p><p>Other.</p><div
    style="mso-element:footnote-list"><hr><div style="mso-element:footnote" id=ftn1><p
    class=MsoFootnoteText><a href="#_ftnref1" name="_ftn1"><span
    class=MsoFootnoteReference>[1]</span></a> Without tax.</p></div></div>""",
    "LibreOffice": """<p>The fee is 30<a class="sdfootnoteanc" name="sdfootnote1anc"
    href="#sdfootnote1sym"><sup>1</sup></a> crowns.</p><p>Other.</p><div id="sdfootnote1"><p><a
    class="sdfootnotesym" name="sdfootnote1sym" href="#sdfootnote1anc">1</a>Without tax.</p>
    </div>""",
    "Asciidoctor": """<p>The fee is 30<sup class="footnote">[<a id="_footnoteref_1"
    class="footnote" href="#_footnotedef_1">1</a>]</sup> crowns.</p><p>Other.</p><div
    id="footnotes"><hr><div class="footnote" id="_footnotedef_1"><a href="#_footnoteref_1">1</a>.
    Without tax.</div></div>""",
    "Sphinx": """<p>The fee is 30 <a class="footnote-reference brackets" href="#id2" id="id1"
    role="doc-noteref"><span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></a>
    crowns.</p><p>Other.</p><aside class="footnote brackets" id="id2" role="doc-footnote"><span
    class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id1">1</a><span
    class="fn-bracket">]</span></span><p>Without tax.</p></aside>""",
    "hidden": """<p>The fee is 30<a href="#n1" epub:type="noteref">1</a> crowns.</p><p>Other.</p>
    <aside id="n1" epub:type="footnote" hidden="hidden"><p>1. Without tax.</p></aside>""",
}


@pytest.mark.parametrize("writer", _NOTES)
def test_a_note_is_behind_the_paragraph_with_its_mark(writer):
    right = "The fee is 30 [^1] crowns.\n\n[^1] Without tax.\n\nOther."
    assert page(_NOTES[writer]) == right
    assert page(_NOTES[writer].replace('href="#', 'href="https://example.org/fees#')) == right


def test_a_heading_has_no_mark_of_a_note():
    body = '<h2>Fees<sup><a href="#n">1</a></sup></h2><p>30.</p><p id=n>1. In crowns</p>'
    assert page(body) == "## Fees\n\n[^1] In crowns\n\n30."


def test_a_note_on_another_page_of_a_book_is_behind_its_mark():
    book = epub(
        a='<p>The lock<a href="notes.xhtml#fn1" epub:type="noteref">1</a> is at Ulm.</p><p>B.</p>',
        notes='<section epub:type="endnotes"><h2>Notes</h2><ol><li id="fn1"><p>Built in 1911. '
        '<a href="a.xhtml#r1">↩</a></p></li></ol></section>',
    )
    assert read("a.epub", book).text == ("The lock [^1] is at Ulm.\n\n[^1] Built in 1911.\n\nB.")


def test_a_note_of_a_table_an_item_and_a_line_is_behind_it():
    body = """<table><tr><th>Berth</th><th>Fee</th></tr><tr><td>A</td><td>30<sup><a
    href="#n1">1</a></sup></td></tr></table><div>One<sup><a href="#n2">2</a></sup> two. <b>B</b>
    three.<ul><li>x<sup><a href="#n3">*</a></sup> y</li></ul></div><p>Other.</p><p id=n1>1. Net</p>
    <p id=n2>Two.</p><p id=n3>* Three</p>"""
    assert page(body) == (
        "| Berth | Fee |\n| --- | --- |\n| A | 30 [^1] |\n\n[^1] Net\n\nOne [^2] two. B three.\n\n"
        "[^2] Two.\n\n- x* y\n\n  * Three\n\nOther."
    )


def test_works_that_a_page_cites_stay_in_their_list():
    body = """<p>Founded in 1911<sup class="reference"><a href="#c1">[1]</a></sup> by Ada.</p>
    <ol class="references"><li id="c1"><span class="mw-cite-backlink"><a href="#r1">^</a></span>
    <span>Smith 2010</span></li></ol>"""
    assert page(body) == "Founded in 1911 [^1] by Ada.\n\n1. Smith 2010"


def test_a_link_up_or_to_a_section_moves_nothing():
    body = """<h2 id="a">One</h2><p>See<sup><a href="#b">2</a></sup>.</p><p id="p">Text.</p>
    <h2 id="b">Two</h2>
    <p>More<sup><a href="#p">1</a></sup> text.</p>"""
    assert page(body) == "## One\n\nSee [^2].\n\nText.\n\n## Two\n\nMore [^1] text."


def test_asides_of_the_text_are_kept_and_asides_of_the_site_dropped():
    body = "<p>A.</p><aside>The lock closes at 9 pm.</aside><aside>Related</aside>"
    links = '<aside><p>Read more.</p><a href="/a">All the other pages</a></aside>'
    assert page(body + links) == "A.\n\nThe lock closes at 9 pm."


def test_equations_and_descriptions_of_pictures_are_read():
    body = """<p>The area is <math><mi>π</mi><msup><mi>r</mi><mn>2</mn></msup></math>.</p>
    <p><img alt="Flow chart of the lock"></p><p>Press <img alt="the red button"> to stop.</p>
    <figure><img alt="A crane"><figcaption>Figure 1: The crane</figcaption></figure>
    <img alt="" src="x.png"><img alt="x.png"><img alt="Acme logo"><img alt="Red" role="none">"""
    assert page(body) == (
        "The area is πr^2.\n\nFlow chart of the lock\n\nPress the red button to stop.\n\nA crane"
        "\n\nFigure 1: The crane"
    )
    wiki = """<p>So <span><span style="display: none"><math><mi>E</mi></math></span><img
    aria-hidden="true" alt="{E}"></span>.</p>"""
    assert page(wiki) == "So E."


def test_items_have_the_numbers_that_the_page_shows():
    body = """<ol start="4"><li>Four<li>Five</ol><p>P</p><ol start=6 type=a><li>f<li value=9>i</ol>
    <ol reversed><li>x<li>y</ol><ol type=I><li>One<ol style="list-style-type: lower-roman"><li>uno
    <li>dos</ol></ol><ol style="list-style: none"><li>(a) x</ol><ol><li>a<ul><li>b</ul><li>c</ol>"""
    assert page(body) == (
        "4. Four\n5. Five\n\nP\n\n- f. f\n- i. i\n\n2. x\n1. y\n\n- I. One\n  - i. uno\n  - ii. dos"
        "\n\n- (a) x\n\n1. a\n   - b\n2. c"
    )


def test_an_item_is_cited_with_the_number_that_the_page_shows(tmp_path):
    body = """<h2>Lease</h2><ol start="5"><li>The tenant pays the rent on Mondays.</li>
    <li>The tenant keeps no dogs.</li></ol>"""
    with index_of(tmp_path, {"lease.html": body}) as kb:
        assert "6. The tenant keeps no dogs." in kb.search("dogs of the tenant").hits[0].chunk.text


def test_struck_out_and_hidden_text_is_left_out():
    body = """<p>The fee is <del>900</del> <ins>750</ins> <s>or 800</s> crowns<span
    style="text-decoration: line-through">, not 700</span><span style="visibility: hidden"> a</span>
    <span hidden>b</span><!-- c --><template>d</template><i aria-hidden="true">home</i>.</p>
    <div aria-hidden="true"><p>Behind a window.</p></div>
    <p><ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby></p><details><summary>More</summary>Inside.</details>"""
    assert page(body) == ("The fee is 750 crowns .\n\nBehind a window.\n\n東京\n\nMore\n\nInside.")


def test_rows_of_a_header_are_one(tmp_path):
    body = """<table><thead><tr><th rowspan=2>Station<th colspan=2>Load (t)<tr><th>Near<th>Far
    </thead><tr><td rowspan=2>Ulm<td>40<td>18<tr><td>41<td>19<tr><td>Vik<td>35<td>15</table>"""
    assert page(body) == (
        "| Station | Load (t) Near | Load (t) Far |\n| --- | --- | --- |\n| Ulm | 40 | 18 |\n"
        "| Ulm | 41 | 19 |\n| Vik | 35 | 15 |"
    )
    titled = "<table><tr><th colspan=2>Loads<tr><th>Station<th>Near<tr><td>Ulm<td>40</table>"
    assert page(titled) == "Loads\n\n| Station | Near |\n| --- | --- |\n| Ulm | 40 |"
    question = "What is the far load of Vik?"
    (answer,) = ask(tmp_path, {"loads.html": body}, question)
    assert "15" in answer


def test_a_saved_form_has_its_values():
    body = """<form><p>Ship name: <input value="Grey Heron"></p><label><input type=checkbox checked>
    Crew on board</label><p>Kind:<select><option>Cargo<option selected>Tug</select></p><p>Remarks:
    <textarea>Call first.</textarea></p><input type=hidden value=secret><input type=password
    value=pass><input type=submit value=Send></form><ul><li><input type=checkbox> Open</ul>"""
    assert page(body) == (
        "Ship name: Grey Heron\n\n[x] Crew on board\n\nKind: Tug\n\nRemarks: Call first.\n\n"
        "- [ ] Open"
    )


SHEET = """@import url(fonts.css); /* } */ .c1{vertical-align:super;font-size:8pt}
p .c1, .c1:hover{display:none} span.c2, .x{vertical-align: text-top} i.c3{vertical-align:sub}
.c4{color:red;TEXT-DECORATION: line-through;text-decoration-skip:none} .c5 , #c6{display:none}
.c7{visibility:hidden} @media print{.c8{display:none}} @media (max-width:9em){.c8{display:none}}
@media screen{.c9{display:none !important}} .c9{display:block} .tab{display:none}
.tab.on{display:block} body, #page{display:none} ol.d1{list-style-type:upper-roman}
ol.kix-0{list-style-type:none} .kix-0 > li:before{content:"" counter(ctn-0,lower-latin) ". "}"""
STYLED = """<div id=page><h1>Fees</h1><p>The fee is 30<span class="x0 c1">1</span> crowns, not
<span class=c4>900</span> 750<span class=c2>2</span> for H<i class=c3>2</i>O.</p>
<p class=c5>A</p><p id=c6>B</p><p class=c7>C</p><p class=c8>Shown.</p><p class=c9>D</p>
<div class=tab>E</div><div class="tab on">Open.</div><p class=c5 style="display:block">Own.</p>
<ol class=d1><li>F<li>G</ol><ol class="kix-0 start"><li>H<li>I</ol></div>"""
SHOWN = """# Fees\n\nThe fee is 30 [^1] crowns, not 750 [^2] for H2O.\n\nShown.\n\nOpen.\n\nOwn.

- I. F\n- II. G\n\n- a. H\n- b. I"""


def test_style_sheets_count_as_styles():
    styled = f"<style type='text/css'><!--{SHEET}--></style></head>{STYLED}"
    assert page(f"<head>{styled}") == SHOWN
    assert page(f"<head><style media=print>.c8{{display:none}}</style>{styled}") == SHOWN
    assert page(f"<head><noscript><style>.c8{{display:none}}</style></noscript>{styled}") == SHOWN
    assert read("a.epub", epub(a=f"<style>{SHEET}</style>{STYLED}")).text == SHOWN
    mail = f"Subject: Fees\nFrom: a@b.c\nContent-Type: text/html\n\n<head>{styled}"
    assert "The fee is 30 [^1] crowns, not 750 [^2] for" in read("a.eml", mail).text


def test_style_sheets_of_a_book_count_for_the_pages_that_name_them():
    held = io.BytesIO(epub(a=f'<link rel="stylesheet" href="../s%201.css"/>{STYLED}', b=STYLED))
    with zipfile.ZipFile(held, "a") as archive:
        archive.writestr("E/s 1.css", SHEET)
    first, _, second = read("a.epub", held.getvalue()).text.rpartition("# Fees")
    assert first.strip() == SHOWN
    assert "301 crowns" in second


@pytest.mark.parametrize(
    "odd", ["/*", "{", "}", "'\"", ".a.", "a,", "<!--", "@media all{", ".a{x:"]
)
def test_odd_style_sheets_are_read_in_little_time(odd):
    assert page(f"<style>{odd * 20_000}</style><p class=a>Shown.</p>") == "Shown."
