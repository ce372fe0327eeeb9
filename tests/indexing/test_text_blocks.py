"""The blocks of plain text are recognised by what it says, and nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.loading import blocks, leads, load, outline

from knotwork._extensions.testing.loader_contract import check_content
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Source, clean_text
from knotwork._indexing.loaders.text_blocks import add_plain_text, is_markdown
from knotwork.records import BlockKind

PROSE = """The stone bridge was built in the year 1784 by a mason whose name is
not known, and it has been repaired many times since then, the last
time in the year 1990, when the arches were closed for two years and
the traffic went by the ferry.
"""
CHINESE_PROSE = """石桥建于一七八四年，由一位不知名的石匠所建，此后多次修缮，最近一
次是在一九九〇年，当时桥拱关闭两年，交通改由渡船承担。如今石桥仍
然在使用，每天有很多人从桥上经过，其中有不少是游客，他们喜欢在桥
上拍照。
"""


def read(text):
    writer = BlockWriter(Source("a.txt", b"", max_characters=10**8))
    add_plain_text(writer, clean_text(text))
    return writer.content("text/plain")


def kinds(document, *left_out):
    return [b.kind.value for b in document.blocks if b.kind not in left_out]


@pytest.mark.parametrize("mark", "-*+•·▪◦‣–—●○■□◆◇►▶")
def test_every_bullet_marks_an_item(mark):
    document = load("a.txt", f"Take these:\n{mark} a tent\n{mark} food\n\nThen go.")
    assert document.text == "Take these:\n\n- a tent\n- food\n\nThen go."
    assert leads(document) == [("list", "Take these:")]


@pytest.mark.parametrize(
    ("first", "second", "written"),
    [
        ("1. ", "2. ", ("1. ", "2. ")),
        ("1) ", "2) ", ("1. ", "2. ")),
        ("3. ", "4. ", ("3. ", "4. ")),
        ("1、", "2、", ("1. ", "2. ")),
        ("1．", "2．", ("1. ", "2. ")),
        ("(1) ", "(2) ", ("- (1) ", "- (2) ")),
        ("（1）", "（2）", ("- （1）", "- （2）")),
        ("a) ", "b) ", ("- a) ", "- b) ")),
        ("a. ", "b. ", ("- a. ", "- b. ")),
        ("(a) ", "(b) ", ("- (a) ", "- (b) ")),
        ("(i) ", "(ii) ", ("- (i) ", "- (ii) ")),
        ("(iv) ", "(v) ", ("- (iv) ", "- (v) ")),
        ("（一）", "（二）", ("- （一）", "- （二）")),
        ("一、", "二、", ("- 一、", "- 二、")),
        ("九、", "十、", ("- 九、", "- 十、")),
        ("①", "②", ("- ①", "- ②")),
        ("• ", "• ", ("- ", "- ")),
        ("•", "•", ("- ", "- ")),
    ],
)
def test_every_mark_of_an_item(first, second, written):
    document = load("a.txt", f"Before.\n\n{first}打开 it\n{second}关闭 it\n\nAfter.")
    one, other = written
    assert document.text == f"Before.\n\n{one}打开 it\n{other}关闭 it\n\nAfter."
    assert kinds(document).count("item") == 2


LISTS = {
    "nested": "- fruit\n  - apple\n  - pear\n    1. big\n    2. small\n- nuts",
    "deeper numbers": "1. first\n   - x\n   - y\n2. second\n   - z",
    "single": "Before.\n\n- only one\n\nAfter.",
    "with paragraphs": "1. One.\n2. Two.\n\n   With more.\n3. Three.",
    "with code": "1. Run:\n\n   ```\n   make x --now\n   ```\n2. Wait.",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_a_list_as_markdown_has_it_is_kept(text):
    document = load("a.txt", text)
    assert document.text == text
    assert "list" in kinds(document)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("- buy food\n  and water\n- go", "- buy food and water\n- go"),
        ("1. 打开\n   盖子\n2. 关闭", "1. 打开盖子\n2. 关闭"),
        ("1. one\n\n2. two\n\n3. three", "1. one\n2. two\n3. three"),
        (" 9. nine\n10. ten", "9. nine\n10. ten"),
        ("1. first\n- x\n- y\n2. second\n- z", LISTS["deeper numbers"]),
        ("• a\n- b\n- c\n• d", "- a\n  - b\n  - c\n- d"),
        ("1. one\n2. two\n\na) one\nb) two", "1. one\n2. two\n\n- a) one\n- b) two"),
        ("1. Open it\nTurn left.\n2. Close it", "1. Open it Turn left.\n2. Close it"),
        ("- names →\nAda, Tom\n- ages", "- names → Ada, Tom\n- ages"),
        ("1. Run:\n\n       make x --now\n\n2. Wait.", LISTS["with code"]),
        ("- a\n- b\n下一步\n- c\n- d", "- a\n- b\n\n下一步\n\n- c\n- d"),
        ("1. one\n2. two\n1. one again\n2. two", "1. one\n2. two\n\n1. one again\n2. two"),
    ],
)
def test_parts_of_an_item(text, written):
    assert load("a.txt", text).text == written


def test_wrapped_lines_without_indent_belong_to_their_item():
    item = PROSE.replace("The stone", "1. The stone").replace("ferry.\n", "ferry.\n2. It stands.\n")
    written = load("a.txt", f"{PROSE}\n{item}").text.split("\n\n")[1]
    assert written.count("\n") == 1
    assert written.endswith("by the ferry.\n2. It stands.")


@pytest.mark.parametrize(
    "text",
    [
        "In 1990. 5 people came\n- or so they said.\n# no heading\n3 of them stayed.",
        "The result was\n12. Nobody knew why.",
        "It costs 5 to\n6 and no more",
        "A - B\nC - D",
        "(see above) is what he wrote.",
        "-5 degrees outside.",
        "1990. That was the year.",
        "a.b.c is a name.",
    ],
)
def test_stray_marks_begin_no_list(text):
    document = load("a.txt", text)
    assert document.text == text
    assert set(kinds(document)) == {"paragraph"}


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("1. Start\n\nText.\n\n1.1 Scope\n\nText.\n\n2. End\n\nText.", ["1", "1.1", "2"]),
        ("1 Start\nText.\n\n2 Middle\nText.\n\n2.1 Part\nText.", ["1", "2", "2.1"]),
        ("1、概述\n\n正文。\n\n2、范围\n\n正文。", ["1", "2"]),
        ("一、概述\n正文内容。\n（一）小型\n正文。\n二、范围\n正文。", ["1", "1.1", "2"]),
        (
            "第一章 开始\n\n正文。\n\n第二节 经过\n\n正文。\n\n一、细节\n\n正文。",
            ["1", "1.1", "1.1.1"],
        ),
        ("Top\n===\n\nText.\n\nSub\n---\n\nText.\n\nNext\n====\n\nText.", ["1", "1.1", "2"]),
        ("=====\nOver\n=====\n\nText.\n\nSub\n~~~\n\nText.", ["1", "1.1"]),
        ("标题\n====\n\n正文。", ["1"]),
        ("Chapter 1\n\nText.\n\n1.1 Part\n\nText.", ["1", "1.1"]),
        ("Step 1: Open\nTurn it.\n\nStep 2: Close\nWait.", None),
        ("Step 1: Open\n\nTurn it.\n\nStep 2: Close\n\nWait.", ["1", "2"]),
        ("第一步：打开\n向左转。\n第二步：关闭\n等待。", ["1", "2"]),
        ("INTRODUCTION\n\nText here.\n\nMETHODS\n\nMore text.", ["1", "2"]),
    ],
)
def test_headings(text, titles):
    document = load("a.txt", text)
    levels = [level for level, _ in outline(document)]
    assert levels == [title.count(".") + 1 for title in titles or ["1", "2"]]
    assert all(document.text.count("#" * level + " ") for level in levels)


@pytest.mark.parametrize(
    "text",
    [
        f"This is a sentence, which has a line below it.\n{'-' * 46}",
        "NASA\n\nESA\n\nJAXA",
        "12 Main Street\nLondon",
        "3. Alone and at the end",
        "A long line that says so much that it cannot be a title of anything\n---",
    ],
)
def test_no_headings(text):
    assert outline(load("a.txt", text)) == []


BARE = " Name | Age\n------+-----\n Ada  |  36\n Alan |  41"
EDGE, ROWS = "+------+-----+", ["| Name | Age |", "| Ada  | 36  |", "| Alan | 41  |"]


@pytest.mark.parametrize(
    "text",
    [
        "Name\tAge\nAda\t36\nAlan\t41",
        "Name\t\tAge\nAda\t\t36\nAlan\t\t41",
        "Name    Age\nAda     36\nAlan    41",
        "Name    Age\n-----   ---\nAda     36\nAlan    41",
        "=====   ===\nName    Age\n=====   ===\nAda     36\nAlan    41\n=====   ===",
        "| Name | Age |\n|------|-----|\n| Ada  | 36  |\n| Alan | 41  |",
        "Name | Age\n--- | ---\nAda | 36\nAlan | 41",
        BARE,
        "\n".join([EDGE, *(f"{row}\n{EDGE}" for row in ROWS)]),
        "\n".join([EDGE, ROWS[0], EDGE.replace("-", "="), *ROWS[1:], EDGE]),
    ],
)
def test_tables(text):
    document = load("a.txt", f"Of whom?\n\nPeople\n{text}\n\nAfter.")
    table = "| Name | Age |\n| --- | --- |\n| Ada | 36 |\n| Alan | 41 |"
    assert document.text in (
        f"Of whom?\n\nPeople\n\n{table}\n\nAfter.",
        f"Of whom?\n\n{table}\n\nAfter.",
    )
    assert blocks(document, BlockKind.TABLE) == [("table", "Name | Age", table)]
    assert [label for _, label, _ in blocks(document, BlockKind.ROW)] == ["Ada", "Alan"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "Item        Price    Stock\nLamp        3.50     12\nDesk lamp            3\n",
            ["| Lamp | 3.50 | 12 |", "| Desk lamp |  | 3 |"],
        ),
        (
            "名称      年龄\n张三      30\n李四丰    40\n",
            ["| 张三 | 30 |", "| 李四丰 | 40 |"],
        ),
        (
            "Item     Use\nLamp     gives light to\n         the room\nChair    to sit on\n",
            ["| Lamp | gives light to the room |", "| Chair | to sit on |"],
        ),
        ("| Ada | 36 |\n| Alan | 41 |", ["| Ada | 36 |", "| Alan | 41 |"]),
        ("a\tb\n1\t\n2\t3", ["| 1 |  |", "| 2 | 3 |"]),
    ],
)
def test_cells_that_are_missing_or_go_on(text, rows):
    document = load("a.txt", text)
    assert [row for _, _, row in blocks(document, BlockKind.ROW)] == rows


def test_options_are_definitions():
    text = (
        "Options:\n  -v, --verbose   say more\n  -q              say\n                  nothing\n"
    )
    document = load("a.txt", text)
    assert [label for _, label, _ in blocks(document, BlockKind.DEFINITION)] == [
        "-v, --verbose",
        "-q",
    ]
    assert document.text.endswith("**-q**\n\nsay nothing")


CODE = {
    "indented": (
        "Run this:\n\n    $ pip install x\n\n    $ x --now\n\nDone.",
        "$ pip install x\n\n$ x --now",
    ),
    "prompt": ("Run this:\n\n$ pip install x\n\nDone.", "$ pip install x"),
    "plain": (
        "Run this:\n\nx = f(1)\nfor y in x:\n    print(y)\n\nDone.",
        "x = f(1)\nfor y in x:\n    print(y)",
    ),
    "fence": ("Run this:\n```python\nx = 1\n\n  y\n```\nDone.", "x = 1\n\n  y"),
    "tildes": ("Run this:\n~~~\n``` x\n~~~\nDone.", "``` x"),
    "literal": ("Run this::\n\n  any words\n    here\n\nDone.", "any words\n  here"),
    "directive": ("Run this:\n\n.. code-block:: python\n\n   x\n\nDone.", "x"),
}


@pytest.mark.parametrize(("text", "code"), CODE.values(), ids=CODE)
def test_code(text, code):
    document = load("a.txt", text)
    ((_, language, written),) = blocks(document, BlockKind.CODE)
    assert written.strip("`").removeprefix(language) == f"\n{code}\n"
    assert leads(document) == [("code", "Run this:")]
    assert document.text.startswith("Run this:\n\n```")
    assert document.text.endswith("\n\nDone.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.py",
            "import os\n\n# Read.\ndef f(x):\n    if x:\n        return x\n\n\nclass A:\n    b = 1",
        ),
        ("a.yaml", "# Server\nserver:\n  host: localhost\n  port: 80\ndb:\n  - name: a\n"),
        ("a.c", "#include <x.h>\n\nint main() {\n  int a = 1;\n  return a;\n}\n"),
    ],
)
def test_a_whole_program_stays_as_it_is(name, text):
    document = load(name, text)
    assert kinds(document) == ["code"]
    assert text.strip() in document.text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("timeout: the time to wait\nhost: the server", ["timeout", "host"]),
        ("主机：服务器的名称\n端口：监听的端口", ["主机", "端口"]),
        ("Timeout: the time.\n\nHost: the server.", ["Timeout", "Host"]),
        ("timeout: the time\n  to wait\nhost: the server", ["timeout", "host"]),
        ("timeout\n    The time to wait.\nhost\n    The server.", ["timeout", "host"]),
        ("timeout\n    The time.\n\nhost\n    The server.", ["timeout", "host"]),
    ],
)
def test_terms_and_what_they_mean(text, terms):
    document = load("a.txt", text)
    assert [label for _, label, _ in blocks(document, BlockKind.DEFINITION)] == terms


def test_speakers_who_speak_again_have_turns():
    document = load("a.txt", "Ada: Is it cold?\nTom: Yes, very.\nAda: Then stay.")
    assert [label for _, label, _ in blocks(document, BlockKind.TURN)] == ["Ada", "Tom", "Ada"]


@pytest.mark.parametrize(
    "text", ["Note: take care.\nThen go.", "See http://a.b\nand http://c.d", "At 10:30 it began."]
)
def test_no_terms(text):
    assert set(kinds(load("a.txt", text))) == {"paragraph"}


def test_quotes():
    document = load(
        "a.txt", "He wrote:\n\n> Take:\n> - food\n> - water\n>\n>> Ada\n\nThen he left."
    )
    assert document.text == (
        "He wrote:\n\n> Take:\n>\n> - food\n> - water\n>\n> Ada\n\nThen he left."
    )
    assert kinds(document, BlockKind.PARAGRAPH) == ["quote", "list", "item", "item"]


def test_rules_are_left_out():
    assert (
        load("a.txt", "One.\n\n-----\n\nTwo.\n\n* * *\n\nThree.\n______").text
        == "One.\n\nTwo.\n\nThree."
    )


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("# Title\n\nText with **bold** and a [link](https://x.y).", True),
        ("## A\ntext\n## B\ntext", True),
        ("# Title\n\n```\nx\n```\n", True),
        ("[a](http://a.b) [c](http://c.d) **e** **f**", True),
        ("# a comment\nx = 1\n# another one\ny = 2\n", False),
        ("**Only** one bold word.", False),
        ("Text.\n\n```\ncode\n```\n", False),
        ("#1 is the best. #2 is not.", False),
    ],
)
def test_markdown_is_recognised(text, marked):
    assert is_markdown(text) is marked


def test_markdown_that_was_saved_as_text_is_read_as_markdown():
    text = (
        "# Travel\n\nTrips are **approved** by [us](https://a.b/c).\n\n## When\n\n1. soon\n2. now"
    )
    as_text, as_markdown = load("a.txt", text), load("a.md", text)
    assert as_text.blocks == as_markdown.blocks
    assert as_text.text == as_markdown.text


@pytest.mark.parametrize("text", [PROSE, CHINESE_PROSE], ids=["english", "chinese"])
def test_wrapped_lines_are_joined(text):
    first, second = load("a.txt", f"{text}\n{text}").text.split("\n\n")
    assert first == second
    assert "\n" not in first
    assert first.replace(" ", "") == text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        "The road goes ever on and on\nDown from the door\n\nPursuing it with feet\nUntil it joins",
        "床前明月光，\n疑是地上霜。\n举头望明月，\n低头思故乡。",
        "Ada Lovelace\n12 St James Square\nLondon\n\nDear Sir,\n\nI am well.",
    ],
)
def test_short_lines_keep_their_breaks(text):
    assert load("a.txt", text).text == text


def test_lines_of_a_log_stay_apart():
    lines = [
        f"2024-01-01 10:00:0{n} INFO reading the file number {n} of the folder" for n in range(5)
    ]
    assert load("a.log", "\n".join(lines)).text == "\n".join(lines)
    assert load("a.txt", "\n".join(lines)).text.split("\n\n") == lines


def letters(text):
    return [character for character in text if character.isalnum()]


PARTS = st.sampled_from(
    [
        *("a", "Lamp", "x: y", "石桥", "x = 1", "def f(x):", "第一章 ", "Chapter 1", "1.1 "),
        *("- ", "* ", "•", "1. ", "2. ", "3) ", "(a) ", "(i) ", "(ii) ", "一、", "二、", "①"),
        *(" ", "  ", "    ", "\t", "\n", "\n\n", "|", " | ", "---", "===", "```", "> ", ">>> "),
        *("+--+", "::", ": ", "：", "。", ". ", ";", "{", "}", "→"),
    ]
)


@given(st.lists(PARTS, max_size=40).map("".join) | st.text())
def test_any_text_keeps_its_letters_in_their_order(text):
    content = read(text)
    assert letters(content.text) == letters(clean_text(text))
    if content.text:
        check_content(content)


HOSTILE = {
    "short lines": "ab\n" * 100_000,
    "headings": "一、概述\n正文。\n" * 20_000,
    "deep indents": "\n".join(" " * (n % 300) + "x" for n in range(30_000)),
    "deep lists": "\n".join("  " * min(n, 200) + "- x" for n in range(5_000)),
    "marks": "- " * 100_000,
    "marks of items": "- - - x\n" * 5_000,
    "rules": "-" * 200_000 + "\n" + "=" * 200_000,
    "bars": "|" * 200_000,
    "half tables": "a | b\n" * 20_000,
    "gaps": "a  b\na  b  c\n" * 10_000,
    "spaces": "x" + " " * 200_000 + "y",
    "fences": "~~~ a\n" * 50_000,
    "indented words": "    word\n\n" * 20_000,
    "quotes": "> " * 20_000 + "x",
    "links": "](http://" * 20_000,
    "an item of many lines": "- a\n" + "  b\n" * 50_000,
    "numbers below each other": "1. a\n- x\n- y\n2. b\n- z\n" * 5_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, pytest.param(1.0, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_in_linear_time(name, share):
    # Each of these takes hours if a step looks at the rest of the text from every line.
    text = HOSTILE[name][: int(len(HOSTILE[name]) * share)]
    is_markdown(text)
    assert letters(read(text).text) == letters(text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("On Monday Bob wrote:\n> What shall I bring?\n>\n> Bob\nTwo oars.", 1),
        ("李先生写道：\n> 周六去哪里？", 1),
        ("Hi,\n> Is it open?\n> Or closed?\nYes.\n> Who has the key?\n> Ann?", 2),
        ("The pressure must be\n> 5 bar at any time.", 0),
    ],
)
def test_quoted_lines_may_follow_a_line_directly(text, quoted):
    for name, data in (("a.txt", text), ("a.eml", f"Subject: Keys\n\n{text}")):
        document = load(name, data)
        assert [kind for kind, _, _ in blocks(document, BlockKind.QUOTE)] == ["quote"] * quoted
    assert quoted or "\n> 5 bar" in document.text.replace(" > 5", "\n> 5")
