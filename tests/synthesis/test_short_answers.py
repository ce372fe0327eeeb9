"""The short answer consists of whole words, and is given only if it is likely right."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knotwork
from knotwork._questions.reading import reading_of
from knotwork._synthesis.extractive_answers import (
    LONGEST_SHORT_ANSWER,
    DocumentBlocks,
    Grain,
    Piece,
    choose_short_answer,
    choose_words,
    complete_words,
    rank_candidates,
    rank_pieces,
)
from knotwork._text.names import normal_form
from knotwork._text.statements import SelectedSentence
from knotwork.records import AnswerSpan, Chunk, Document, Mention, Span


def complete(sentence, words):
    start = sentence.index(words)
    return complete_words(sentence, Span(start, start + len(words)), Span(0, len(sentence)))


@pytest.mark.parametrize(
    ("sentence", "words", "whole"),
    [
        ("It is kept in /etc/resolv.conf; another is not.", "/etc/resolv", "/etc/resolv.conf"),
        ("Open https://www.example.org/backup in a browser.", "https", "https://www.example.org/backup"),
        ("Use --keep-daily=7 for a week.", "keep-daily", "--keep-daily=7"),
        ("The default is one second (1s).", "one second (1s", "one second (1s)"),
        ("It sends the context (recursively) to it.", "recursively)", "recursively"),
        ("Secrets are in `/run/secrets` there.", "/run/secrets", "/run/secrets"),
        ("Use listen-on { none; }; to stop it.", "listen-on { none", "listen-on"),
        ("The toll is two crowns.", "two crowns.", "two crowns"),
        ("住宿费每晚不超过六百元。", "六百元。", "六百元"),
        ("默认值为10分钟（可改）。", "10分钟（可", "10分钟"),
        ("A file named .bashrc is read.", ".bashrc", ".bashrc"),
        ("It says “never again” twice.", "“never", "never"),
        ("默认值：0（同早期版本）。", "：0", "0"),
    ],
)  # fmt: skip
def test_words_are_made_whole(sentence, words, whole):
    assert complete(sentence, words) == whole


@given(
    st.text(alphabet="ab -./()[]`“”（）。, 中文", min_size=1, max_size=40),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_any_words_become_words_of_their_sentence(sentence, start, length):
    start = min(start, len(sentence) - 1)
    end = min(start + 1 + length, len(sentence))
    found = complete_words(sentence, Span(start, end), Span(0, len(sentence)))
    assert found in sentence
    assert found == found.strip()
    for opening, closing in ("()", "[]", "“”", "（）"):
        assert found.count(opening) == found.count(closing)


SENTENCE = "The default of the timeout is ten minutes."
PASSAGE = f"About timeouts. {SENTENCE} Others follow."
QUESTION = "What is the default of the timeout?"


def selected(words="ten minutes", *, probability=0.95):
    start = PASSAGE.index(words)
    chunk = Chunk("c", "d", "s", 0, Span(100, 100 + len(PASSAGE)), PASSAGE, ())
    at = 100 + PASSAGE.index(SENTENCE)
    answer = AnswerSpan(Span(start, start + len(words)), probability)
    return SelectedSentence(chunk, Span(at, at + len(SENTENCE)), SENTENCE, 1.0, 0, answer=answer)


def test_sure_words_are_the_short_answer():
    assert choose_words(selected(), reading_of(QUESTION), confidence=0.9) == "ten minutes"


def test_it_is_given_less_the_less_sure_each_estimate_is():
    assert choose_words(selected(), reading_of(QUESTION), confidence=0.25) == ""
    assert choose_words(selected(probability=0.05), reading_of(QUESTION), confidence=0.9) == ""


@pytest.mark.parametrize("words", ["The default of the timeout", "About timeouts", "the"])
def test_words_of_the_question_or_of_another_sentence_are_no_answer(words):
    assert choose_words(selected(words), reading_of(QUESTION), confidence=0.9) == ""


@pytest.mark.parametrize("question", ["Which directive limits the size?", "哪个选项限制大小？"])
def test_who_asks_for_a_name_gets_no_number(question):
    text = "A value of 0 means no limit."
    chunk = Chunk("c", "d", "s", 0, Span(0, len(text)), text, ())
    item = SelectedSentence(
        chunk, Span(0, len(text)), text, 1.0, 0, answer=AnswerSpan(Span(11, 12), 1.0)
    )
    assert choose_words(item, reading_of(question), confidence=0.99) == ""
    assert choose_words(item, reading_of("Which value is it?"), confidence=0.99) == "0"


def test_a_sentence_that_announces_others_has_no_short_answer():
    text = "The values of the timeout are as follows."
    chunk = Chunk("c", "d", "s", 0, Span(0, len(text)), text, ())
    answer = AnswerSpan(Span(4, 10), 1.0)
    item = SelectedSentence(chunk, Span(0, len(text)), text, 1.0, 0, answer=answer)
    assert choose_words(item, reading_of("Which are allowed?"), confidence=0.99) == ""


def test_unread_parts_have_no_short_answer():
    unread = dataclasses.replace(selected(), answer=None)
    assert choose_words(unread, reading_of(QUESTION), confidence=0.99) == ""


def test_a_long_clause_is_no_short_answer():
    long = "one of " + "many different " * (LONGEST_SHORT_ANSWER // 14) + "values"
    chunk = Chunk("c", "d", "s", 0, Span(0, len(long)), long, ())
    answer = AnswerSpan(Span(0, len(long)), 1.0)
    item = SelectedSentence(chunk, Span(0, len(long)), long, 1.0, 0, answer=answer)
    assert choose_words(item, reading_of(QUESTION), confidence=0.99) == ""


def sentence_with(words, text):
    chunk = Chunk("c", "d", "s", 0, Span(0, len(text)), text, ())
    start = text.index(words)
    answer = AnswerSpan(Span(start, start + len(words)), 1.0)
    return SelectedSentence(chunk, Span(0, len(text)), text, 1.0, 0, answer=answer)


@pytest.mark.parametrize(
    ("question", "words", "text", "is_given"),
    [
        ("How much does a gasket cost?", "two years", "A gasket lasts two years.", False),
        ("How much does a gasket cost?", "two crowns", "A gasket costs two crowns.", True),
        ("How much does a gasket cost?", "30", "A gasket costs 30.", True),
        ("How long is the hose?", "20 m", "The hose is 20 m long.", True),
        ("How long is the hose?", "4 kg", "The hose weighs 4 kg.", False),
        ("How heavy is the pump?", "90 °C", "The pump bears 90 °C.", False),
        ("What time does the gate open?", "two days", "The gate opens within two days.", False),
        ("What time does the gate open?", "9:30", "The gate opens at 9:30.", True),
        ("仓库的面积有多大？", "五百克", "仓库每批留样五百克。", False),
        ("茶叶每公斤卖多少钱？", "五百克", "每批茶叶留样五百克。", False),
        ("茶叶每公斤卖多少钱？", "四十元", "茶叶每公斤四十元。", True),
        ("周女士今年多大年纪？", "1998年", "蜂场由周女士于1998年创办。", False),
        ("健身房的年费是多少？", "二十一点", "健身房二十一点关闭。", False),
        ("健身房几点关闭？", "二十一点", "健身房二十一点关闭。", True),
    ],
)
def test_words_of_another_kind_than_is_asked_for_are_not_given(question, words, text, is_given):
    given = choose_words(sentence_with(words, text), reading_of(question), confidence=0.99)
    assert given == (words if is_given else "")


@pytest.mark.parametrize(
    ("question", "words", "text", "is_given"),
    [
        ("When was the option added?", "3.11", "The option was added in version 3.11.", False),
        ("When was the option added?", "May 2018", "The option was added in May 2018.", True),
        ("When was the buoy moored?", "14 months", "The buoy was moored for 14 months.", False),
        ("When does the office open?", "seven", "The office opens at seven.", True),
        ("When does the office open?", "seven", "The office opens seven doors.", False),
        ("Which version has the option?", "May 2018", "The option came in May 2018.", False),
        ("Which version has the option?", "3.11", "The option came with version 3.11.", True),
        ("How many trips were late?", "a third", "Of all trips a third were late.", False),
        ("How many trips were late?", "12%", "Of all trips 12% were late.", False),
        ("How many trips were late?", "31", "In May 31 trips were late.", True),
        ("What share of the trips was late?", "31", "In May 31 trips were late.", False),
        ("What share of the trips was late?", "a third", "A third was late: a third.", True),
        ("Who keeps the light?", "1996", "Since 1996 nobody keeps the light.", False),
        ("Who leads the survey?", "Harbour Authority", "The Harbour Authority leads it.", False),
        ("Who pays for the survey?", "Harbour Authority", "The Harbour Authority pays it.", True),
        ("Who leads the survey?", "Mira Solheim", "Mira Solheim leads the survey.", True),
        ("Where was the buoy moored?", "May 2018", "It was moored in May 2018.", False),
        ("How long did the voyage last?", "in 2018", "The voyage was in 2018.", False),
        ("差旅补助每天多少钱？", "十日", "差旅补助每天一百二十元，每月十日发放。", False),
        ("差旅补助每天多少钱？", "一百二十元", "差旅补助每天一百二十元，每月十日发放。", True),
        ("选项是哪个版本加入的？", "2018年5月", "选项于2018年5月加入。", False),
        ("浮标是什么时候投放的？", "3.2版", "浮标随软件3.2版投放。", False),
        ("望汐有多少名员工？", "三成", "望汐的员工占三成。", False),
        ("望汐有多少名员工？", "11人", "望汐现有员工11人。", True),
        ("她收藏了多少张海图？", "三百多张", "她收藏三百多张海图。", True),
        ("Where is the report?", "Mira Solheim", "The report is Mira Solheim’s.", False),
        ("Where is the mill?", "in 1871", "The mill was built in 1871.", False),
        ("Where is the mill?", "Tarnby", "The mill is in Tarnby.", True),
        ("谁主持计划？", "2023年", "计划从2023年开始。", False),
        ("办事处在哪里？", "2017年", "办事处于2017年设立。", False),
    ],
)
def test_a_near_value_of_another_kind_is_not_given(question, words, text, is_given):
    types = {"Harbour Authority": "ORGANIZATION", "Mira Solheim": "PERSON"}
    mentions = [Mention("c", normal_form(words), words, types[words])] if words in types else []
    given = choose_words(
        sentence_with(words, text), reading_of(question), confidence=0.99, mentions=mentions
    )
    assert bool(given) is is_given


@pytest.mark.parametrize(
    ("question", "words", "text"),
    [
        ("被困在电梯里怎么办？", "报出电梯编号", "被困在电梯里时，报出电梯编号。"),
        ("How do I stop the pump?", "the red lever", "Pull the red lever to stop it."),
        ("Which parts does the pump have?", "a valve", "The pump has a valve and a hose."),
        ("Is the limit ten minutes?", "ten minutes", "The limit is ten minutes."),
        ("限制是十分钟吗？", "十分钟", "限制是十分钟。"),
    ],
)
def test_steps_lists_and_yes_or_no_are_not_answered_by_a_few_words(question, words, text):
    piece = Piece(
        Grain.PARAGRAPH,
        Span(0, len(text)),
        DocumentBlocks(Document("a.md", text)),
        parts=[sentence_with(words, text)],
    )
    assert choose_short_answer(piece, question, confidence=0.99) == ""


FEES = """# Fees

| Van | Seats | Hire (£) | Deposit (£) |
| --- | --- | --- | --- |
| Small van | 2 | 55 | 100 |
| Minibus | 16 | 120 | 300 |

# 学费

| 车型 | 学时 | 学费（元） | 补考费（元） |
| --- | --- | --- | --- |
| 摩托车 | 26 | 900 | 80 |
| 小轿车 | 62 | 3400 | 150 |
"""


@pytest.fixture(scope="module")
def fees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fees")
    (folder / "fees.md").write_text(FEES, encoding="utf-8")
    with knotwork.open("memory:", embedding_model="none") as base:
        base.index(folder)
        yield base


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("What is the deposit for a minibus?", "300"),
        ("How many seats does the small van have?", "2"),
        ("摩托车的学费是多少？", "900"),
        ("小轿车的补考费是多少？", "150"),
        ("What is the colour of the minibus?", ""),  # no column
        ("What is the deposit for a lorry?", ""),  # no row
        ("卡车的学费是多少？", ""),
        ("What does a minibus cost?", ""),  # two columns
    ],
)
def test_of_a_row_the_cell_below_the_named_column_is_given(fees, question, cell):
    found = fees.search(question)
    pieces = rank_pieces(found, rank_candidates(found), fees.store)
    rows = [piece for piece in pieces if piece.grain is Grain.ROW]
    asked = (row for row in rows if row.text.strip("| ").split(" |")[0].lower() in question)
    row = next(asked, rows[0])
    assert choose_short_answer(row, question, confidence=0.9) == cell
    assert choose_short_answer(row, question, confidence=0.3) == ""
