import pytest
from tests.indexing.loading import blocks, leads, load, outline

from knotwork.records import BlockKind

HTML = (
    """<!doctype html><html lang="en"><head><title>Page &amp; title</title>
<meta name="author" content="Ada"><meta property="article:published_time" content="2024-01-31">
<script>var x = "no";</script><style>p {}</style></head><body>
<header><nav><a href="/">Home</a></nav></header>
<div role="navigation">Menu</div><div style="display: none">secret</div>
<main><h1>Heading <em>one</em></h1><p>First   paragraph with a <a href="/x">link text</a>.<br>New
line.</p><ul><li>apples</li><li>pears<ol><li>big</li><li>small</li></ol></li></ul>
<h2>Table</h2><table><tr><th>Name</th><th>Age</th></tr><tr><td>Ada</td><td>36</td></tr></table>
<pre>code  keeps
  its space</pre><p>After. """
    + "Words to be long enough. " * 8
    + """</p></main>
<aside>Related</aside><footer>Copyright</footer></body></html>"""
)


def test_html_keeps_the_main_text():
    document = load("a.html", HTML)
    assert document.title == "Page & title"
    assert document.metadata == {"author": "Ada", "date": "2024-01-31", "language": "en"}
    assert outline(document) == [(1, "Heading one"), (2, "Table")]
    assert document.text.startswith(
        "# Heading one\n\nFirst paragraph with a link text.\nNew line.\n\n- apples\n- pears\n"
        "  1. big\n  2. small\n\n## Table\n\n| Name | Age |\n| --- | --- |\n| Ada | 36 |\n\n"
        "```\ncode  keeps\n  its space\n```\n\nAfter. Words"
    )
    for word in ("var x", "Home", "Menu", "secret", "Related", "Copyright", "p {}"):
        assert word not in document.text


def test_lines_of_chinese_html_are_joined_without_a_space():
    page = (
        "<p>这会导致其\n  他中断没有机会运行，\n而 <b>see\nthis</b> 之后\nEnglish words\n"
        "follow。</p>"
        "<table><tr><th>甲</th><th>乙</th></tr><tr><td>一二\n三</td><td>a\nb</td></tr></table>"
        "<pre>一\n二</pre>"
    )
    text = load("a.html", page.encode()).text
    assert text.startswith("这会导致其他中断没有机会运行，而 see this 之后 English words follow。")
    assert "| 一二三 | a b |" in text
    assert "一\n二" in text


def test_html_keeps_what_introduces_a_text():
    page = """<body><h1>Options</h1>
<dl><dt><code>-t</code> <i>seconds</i><a class="headerlink" href="#t">¶</a></dt><dt>--timeout</dt>
<dd><p>The time. It is 60 s.</p><dl><dt>0</dt><dd>Waits for ever.</dd></dl></dd>
<dt>-q</dt><dd>Says nothing.</dd></dl>
<p>Some text. These are kept:</p><ul><li>logs</li><li>keys</li></ul><p>No list follows:</p>
<div class="sidebar"><p class="title"><b>HISTORY The name</b></p><p>It is a pun.</p></div>
<div class="note"><h3 class="title">Note</h3><p>Take care.</p></div>
<pre>run --now</pre></body>"""
    document = load("a.html", page)
    assert blocks(document, BlockKind.DEFINITION, BlockKind.BOX, BlockKind.CODE) == [
        (
            "definition",
            "-t seconds, --timeout",
            "**-t seconds, --timeout**\n\nThe time. It is 60 s.\n\n**0**\n\nWaits for ever.",
        ),
        ("definition", "0", "**0**\n\nWaits for ever."),
        ("definition", "-q", "**-q**\n\nSays nothing."),
        ("box", "HISTORY The name", "HISTORY The name\n\nIt is a pun."),
        ("box", "", "Take care."),
        ("code", "", "```\nrun --now\n```"),
    ]
    assert leads(document) == [("list", "These are kept:")]
    assert outline(document) == [(1, "Options")]
    assert "Note" not in document.text
    assert "¶" not in document.text


@pytest.mark.parametrize(
    "furniture",
    [
        '<div class="navheader"><a href="a.html">Prev</a> Up <a href="b.html">Next</a></div>',
        '<ul class="docnav top"><li>Prev</li><li>Next</li></ul>',
        '<div class="toc"><dl><dt>Prev 1. One</dt></dl></div>',
        '<div id="footer"><p>Last updated today. Prev</p></div>',
        '<div class="sphinxsidebar" role="navigation"><h3>Prev</h3></div>',
    ],
)
def test_html_leaves_out_what_leads_to_other_pages(furniture):
    document = load("a.html", f"<body>{furniture}<h1>One</h1><p>Text.</p>{furniture}</body>")
    assert document.text == "# One\n\nText."


def test_a_note_of_asciidoc_is_no_table():
    page = """<div class="admonitionblock"><table><tr><td class="icon"><div class="title">Note</div>
</td><td class="content">Take care.</td></tr></table></div><p>Text.</p>"""
    assert load("a.html", page).text == "Take care.\n\nText."


def test_html_keeps_the_terms_in_bold():
    page = """<p><b>Timeout:</b> The time. It is <b>30</b> s.</p><ul><li><strong>-k</strong> – Is
kept.</li><li><b>No</b> term</li></ul><p><b>Note:</b> Care.</p><p>Text <b>Other:</b> text.</p>
<h2><b>A:</b> title</h2><p><b>Alone.</b></p><pre><b>run:</b> now</pre>"""
    assert blocks(load("a.html", page), BlockKind.DEFINITION, BlockKind.ITEM) == [
        ("definition", "Timeout", "Timeout: The time. It is 30 s."),
        ("item", "-k", "- -k – Is kept."),
        ("item", "", "- No term"),
    ]


def test_html_that_ends_in_the_middle_keeps_its_definitions():
    document = load("a.html", "<dl><dd>Alone.</dd><dt>Term<dd>Said of it.<dt>Last")
    assert blocks(document) == [
        ("paragraph", "", "Alone."),
        ("definition", "Term", "**Term**\n\nSaid of it."),
        ("paragraph", "", "Said of it."),
        ("paragraph", "", "Last"),
    ]


def test_a_term_of_html_may_have_several_descriptions_and_stars():
    page = "<dl><dt>**kwargs<dt><h3>f(*args)</h3><dd>More.<dd><dl><dt>a<dd>One.</dl><dd>Last.</dl>"
    document = load("a.html", page)
    assert document.text.split("\n\n") == [
        *("**kwargs, f(*args)", "More.", "**a**", "One.", "Last."),
    ]
    assert [label for _, label, _ in blocks(document, BlockKind.DEFINITION)] == [
        *("**kwargs, f(*args)", "**kwargs, f(*args)", "a", "**kwargs, f(*args)"),
    ]


def test_lists_of_html_are_nested_with_all_paragraphs_of_their_items():
    page = """<body><p>In order:<ol start="3"><li><p>Stop.</p><p>It may take long.</p><pre>stop

now</pre><li>Wait<ul><li>a minute</ul><li value="7">Start.</ol><menu><li>Help</menu>"""
    document = load("a.html", page)
    assert document.text == (
        "In order:\n\n3. Stop.\n\n   It may take long.\n\n   ```\n   stop\n\n   now\n   ```\n"
        "4. Wait\n   - a minute\n7. Start.\n\n- Help"
    )
    assert leads(document) == [("list", "In order:"), ("list", "Wait")]


def test_a_heading_ends_the_list_and_the_quote_around_it():
    page = "<ul><li>One<h2>Two</h2><p>Three<li>Four</ul><blockquote>Five<h2>Six</h2>Seven"
    document = load("a.html", page)
    assert document.text == "- One\n\n## Two\n\nThree\n\n- Four\n\n> Five\n\n## Six\n\nSeven"
    assert outline(document) == [(2, "Two"), (2, "Six")]


def test_a_heading_without_its_end_tag_ends_with_the_next_block():
    document = load(
        "a.html", "<h1>One <b>two</b><ul><li>x</ul><h2><div>Three</div></h2>Four<h3>A<h4>B"
    )
    assert document.text == "# One two\n\n- x\n\n## Three\n\nFour\n\n### A\n\n#### B"


def test_boxes_figures_and_tables_of_html_have_their_titles():
    page = """<div class="note"><h4>Beware</h4><p>It bites.</p></div><p>See <b class="note">it</b>.
<figure><pre class="language-sh">run</pre><figcaption>Fig. 1
<a class="headerlink">¶</a></figcaption></figure>
<div class="figure"><p class="caption"><span class="caption-text">A dog</span></div>
<table><caption>Table 1</caption><tr><th>Dog<th>Age<tr><td>Rex<td>3</table>
<div class="highlight-py"><div><pre><div>a = 1</div><div>b = 2</div></pre></div></div>"""
    document = load("a.html", page)
    containers = (BlockKind.BOX, BlockKind.FIGURE, BlockKind.CODE)
    assert blocks(document, *containers) == [
        ("box", "Beware", "Beware\n\nIt bites."),
        ("figure", "Fig. 1", "```sh\nrun\n```\n\nFig. 1"),
        ("code", "sh", "```sh\nrun\n```"),
        ("figure", "A dog", "A dog"),
        ("box", "Table 1", "Table 1\n\n| Dog | Age |\n| --- | --- |\n| Rex | 3 |"),
        ("code", "py", "```py\na = 1\nb = 2\n```"),
    ]
    assert "See it." in document.text
    assert outline(document) == []


def test_a_column_of_icons_makes_no_table():
    page = "<table><tr><td><img><td>One.<tr><td><img><td>Two.</table>"
    assert blocks(load("a.html", page)) == [("paragraph", "", "One."), ("paragraph", "", "Two.")]


def test_parts_of_lists_outside_of_lists_are_kept():
    start = "9" * 5_000
    page = (
        f"<div class=note><li>One<li value=4>Two</div><dd>Three<dt>Four<ol start={start}><li>Five"
    )
    assert load("a.html", page).text == "- One\n\n- Two\n\nThree\n\n1. Five\n\nFour"


def test_html_declares_its_encoding():
    page = "<html><head><meta charset='gb2312'></head><body><p>中文网页，很好。</p></body></html>"
    assert load("a.html", page.encode("gb2312")).text == "中文网页，很好。"


def test_layout_tables_are_read_as_text():
    page = "<table><tr><td><h2>Part</h2><p>One.</p></td><td><p>Two.</p></td></tr></table>"
    assert load("a.html", page).text == "## Part\n\nOne.\n\nTwo."


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Bring:<br>• a rope<br>• a hook", "Bring:\n\n- a rope\n- a hook"),
        ("- a rope<br/>\n- a <b>hook</b>", "- a rope\n- a hook"),
        ("1. Stop.<br>2. Look,<br>and listen.", "1. Stop.\n2. Look, and listen."),
        ("请带：<br>· 绳子<br>· 钩子", "请带：\n\n- 绳子\n- 钩子"),
        ("1、关门。<br>2、启动。", "1. 关门。\n2. 启动。"),
        ("（一）关门。<br>（二）启动。", "- （一）关门。\n- （二）启动。"),
        ("12 Kiln Road<br>- by the mill", "12 Kiln Road\n- by the mill"),
        ("A. Smith<br>B. Jones", "A. Smith\nB. Jones"),
    ],
)
@pytest.mark.parametrize("element", ["p", "div", "td"])
def test_typed_marks_between_line_breaks_are_a_list(text, written, element):
    if element == "td":
        text = f"<table><tr><td>{text}<ul></ul></td></tr></table>"  # a table that arranges blocks
    else:
        text = f"<{element}>{text}</{element}>"
    document = load("a.html", f"<meta charset=utf-8><h1>Jetty</h1>{text}<p>Never jump.")
    assert document.text == f"# Jetty\n\n{written}\n\nNever jump."
