import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.work import count_calls

from knotwork._text.sentences import LONGEST_SENTENCE, LONGEST_WIDE_SENTENCE, split_sentences
from knotwork.records import Span

pytestmark = pytest.mark.slow


PIECES = st.sampled_from(
    [
        *(
            "Mr. ",
            "the U.S. ",
            "3.14 ",
            "Hello. ",
            "Why? ",
            "“是吗？”",
            "他说",
            "好。",
            "……",
            "...",
        ),
        *("\n", "\n\n", "  ", "- item\n", "# Title\n", "| a | b |\n", "\t", "\x00", "\f", "é"),
        *("e\u0301", "👩\u200d👩\u200d👧", "שלום. ", "（注。）", '"', "A. B. "),
    ]
)


def sentences(text):
    return [text[start:end] for start, end in split_sentences(text)]


def assert_covers(text, spans):
    position = 0
    for start, end in spans:
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@pytest.mark.parametrize(
    "parts",
    [
        ["Mr. Smith met Dr. J. K. Rowling in the U.S. Army.", "He paid $3.50 for No. 7, vol. 2."],
        ["Really?", '"Yes!" she said.', '"No."', "Then he left."],
        ["The firm moved to Apple Inc. headquarters in Jan. 2019.", "It stayed at 5 p.m. Monday."],
        ["He works for Apple Inc.", "The company is large."],
        ["And then... he came back.", "It was late…", "Nobody knew."],
        ["It was founded in 1998.[3]", "The next came later."],
        ["(It was so.)", "“Was it?”", "‘Yes.’", "[No.]"],
        ["See e.g. Smith et al. 2010, pp. 3–5, Fig. 2 and i.e. that.", "Yahoo! is a firm."],
        ["He lived in Washington, D.C.", "The city is old."],
        ["It opens Sun. May 5 at noon.", "Paint protects it from the sun.", "Water is wrong."],
        ["Here the old man sat.", "Peter came.", "The way was long.", "Ada slept."],
        ["Use version 2.0.1 of example.com/a.b.", "Python 3.11 works too."],
    ],
)
def test_english_sentences(parts):
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["今天天气很好。", "我们去公园吧！", "你去吗？", "好；", "那走吧。"],
        ["“你好吗？”他问。", "“我很好。”", "天黑了。"],
        ["他写了《你好吗？》这本书。", "书很好……", "大家都喜欢。"],
        ["这是“为什么？”的问题。", "没有答案？！", "是的。"],
        ["他说：「這是什麼？」。", "（見第3.5節。）", "增長了3.14%。"],
        ["版本2.0发布了.", "大家很高兴!", "你呢?", "还行。"],
    ],
)
def test_chinese_sentences_need_no_spaces(parts):
    assert sentences("".join(parts)) == parts


def test_line_breaks_end_blocks_but_wrapping_does_not():
    text = (
        "# A heading without a stop\nThe first sentence of a paragraph that has been\nwrapped by "
        "an editor at a certain width. The\nsecond one.\n\n- apples\n- pears\n  from the garden\n"
        "1. First. Second.\n| a | b |\n| c | d |\nname\tvalue\nother\tthing"
    )
    assert sentences(text) == [
        "# A heading without a stop",
        "The first sentence of a paragraph that has been\nwrapped by an editor at a certain width.",
        "The\nsecond one.",
        "- apples",
        "- pears\n  from the garden",
        "1. First.",
        "Second.",
        "| a | b |",
        "| c | d |",
        "name\tvalue",
        "other\tthing",
    ]


def test_lines_that_stand_for_themselves_are_sentences():
    lines = ["Name: Ada Lovelace", "Born: 10 December 1815", "Field: Mathematics"]
    assert sentences("\n".join(lines)) == lines
    rows = ["name: Ada; born: 1815", "name: Alan; born: 1912; field: logic", "name: Kurt"]
    assert sentences("\n".join(rows)) == rows


def test_wrapped_prose_may_go_on_with_a_name_or_a_number():
    text = (
        "The year in brief\nSales rose by 9 percent to 14.2 million crowns. We delivered 31 buoys "
        "and 118\nKestrel probes. All work at sea was stopped after the storm in winter until "
        "March\n2024. At the end of the year 64 people worked at the company, which is more than\n"
        "ever before. We are proud."
    )
    assert sentences(text) == [
        "The year in brief",
        "Sales rose by 9 percent to 14.2 million crowns.",
        "We delivered 31 buoys and 118\nKestrel probes.",
        "All work at sea was stopped after the storm in winter until March\n2024.",
        "At the end of the year 64 people worked at the company, which is more than\never before.",
        "We are proud.",
    ]


def test_wrapped_chinese_lines_are_joined():
    text = (
        "这是一个被编辑器按固定宽度折行的中文段落它没有在行末\n"
        "使用标点所以换行不应当被当作句子的结束而是应当被连接\n起来。下一句。"
    )
    assert sentences(text) == [text[:-4], "下一句。"]


def test_lost_stops_are_found_at_double_spaces():
    parts = ["He wrote a song", "No  7 Tennessee plays vs  No  14", "It won"]
    assert sentences("  ".join(parts)) == parts
    assert sentences("his own customer funds ” Follow along  We will") == [
        "his own customer funds ”",
        "Follow along",
        "We will",
    ]


def test_double_spaces_inside_sentences_with_stops_cut_nothing():
    text = "George Rankin  Smith (1 May 1887) was a soldier. He served long. He died."
    assert len(sentences(text)) == 3


def test_long_sentences_are_cut_at_lesser_boundaries():
    text = "; ".join(f"column {n}: a value of some length {n}" for n in range(100))
    parts = sentences(text)
    assert all(len(part) <= LONGEST_SENTENCE for part in parts)
    assert all(part.endswith(";") for part in parts[:-1])
    wide = "，".join(["这是一个没有句号的很长的句子"] * 100)
    assert all(len(p) <= LONGEST_WIDE_SENTENCE and p[-1] in "，子" for p in sentences(wide))


def test_a_cut_keeps_accents_with_their_letter():
    text = "e\u0301" * 2000
    assert all(part[0] == "e" for part in sentences(text))


def test_start_moves_the_spans():
    assert split_sentences("One. Two.", start=10) == [Span(10, 14), Span(15, 19)]
    assert split_sentences(" \n\t ") == []


@given(st.lists(PIECES, max_size=40).map("".join))
def test_spans_leave_out_only_white_space(text):
    assert_covers(text, split_sentences(text))


@given(st.text(max_size=1500))
def test_any_text_is_covered(text):
    assert_covers(text, split_sentences(text))


class CountedText(str):
    """A text that counts the characters that are copied out of it."""

    __slots__ = ("copied",)

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.copied = 0
        return self

    def __getitem__(self, key):
        part = super().__getitem__(key)
        self.copied += len(part)
        return part


def count_work(text):
    """Return the functions called and the characters copied while a text is split."""
    counted = CountedText(text)
    calls = count_calls(lambda: split_sentences(counted))
    return calls + counted.copied


@pytest.mark.parametrize(
    "unit",
    [
        *("a", ".", "\n", " ", "。", '."', ". ", "\n ", "a  B", "…", "'", " \n", "- a\n", "(["),
        *("A. ", "a\n", "A word and\n", "字\n", "wrapped prose that goes on and\n", "a: b\nC"),
    ],
)
def test_work_grows_in_proportion_to_the_text(unit):
    small, large = (count_work(unit * (size // len(unit))) for size in (3_000, 12_000))
    assert large <= 4.4 * small + 100


def test_counted_work_shows_what_grows_faster():
    def copies_the_rest_each_time(size):
        text = CountedText("a" * size)
        calls = count_calls(lambda: [text[start:] for start in range(size)])
        return calls + text.copied

    assert copies_the_rest_each_time(4_000) > 10 * copies_the_rest_each_time(1_000)
