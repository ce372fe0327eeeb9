"""Follow-ups in a conversation have the answers of the full questions that they mean."""

import pytest

import knotwork
from knotwork.records import Document

HARBOUR = """# Skarrow harbour

The harbour master of Skarrow is Jonas Vik. He is reached on channel 12.

Jonas Vik succeeded Mira Solheim in March 2021.

German guests pay 14 crowns a night, Chinese guests pay 11 crowns a night.

The harbour had 310 guests in 2020 and 455 guests in 2021.
"""
LIFEBOAT = """# Lifeboats

The lifeboat station in Ashmere is reached on channel 16.

The lifeboats are called Tern and Petrel. Tern is 9 metres long. Petrel is 12 metres long.
"""
TRAVEL = """# Travel policy

Trips abroad are approved by the Travel Office. A hotel may cost 120 crowns a night.
"""
CHINESE = """# 灯塔岛

灯塔岛港务长是林海生，他出生在青岛。

轮渡周二和周五开航，票价三十元。冬季停航，因为海浪太高。

2020年有三百名游客，2021年有四百五十名游客。
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("threads") / "threads.knot"
    texts = {"harbour": HARBOUR, "lifeboats": LIFEBOAT, "travel": TRAVEL, "chinese": CHINESE}
    with knotwork.open(path, embedding_model="none") as opened:
        opened.index_documents([Document(f"{name}.md", text) for name, text in texts.items()])
        yield opened


def ask_in_turn(base, *questions):
    """Return the last answer, and how its question was understood."""
    turns = []
    for question in questions:
        answer = base.ask(question, turns=turns)
        turns.append((question, answer.text))
    marks = [note for note in answer.notes if note.startswith("Understood as: ")]
    return answer, marks[0].removeprefix("Understood as: ") if marks else ""


WHO = "Who is the harbour master of Skarrow?"
SUCCEEDED = "Who succeeded Mira Solheim?"


@pytest.mark.parametrize(
    ("questions", "held"),
    [
        ((WHO, "On which channel can I reach him?"), "channel 12"),
        ((SUCCEEDED, "And when did that happen?"), "March 2021"),
        ((SUCCEEDED, "When was that?"), "March 2021"),
        (("How much do German guests pay?", "What about Chinese guests?"), "11 crowns"),
        (("How many guests did the harbour have in 2020?", "And in 2021?"), "455"),
        (("What are the lifeboats called?", "How long is the second one?"), "12 metres"),
        (
            ("What are the lifeboats called?", "How long is the second one?", "And the other one?"),
            "9 metres",
        ),
        (("灯塔岛港务长是谁？", "他出生在哪里？"), "青岛"),
        (("轮渡什么时候开航？", "票价呢？"), "三十元"),
        (("2020年有多少游客？", "那2021年呢？"), "四百五十"),
    ],
)
def test_a_follow_up_is_answered(base, questions, held):
    answer, understood = ask_in_turn(base, *questions)
    assert understood, "the reader can see how it was understood"
    assert held in answer.text
    alone = base.ask(understood)
    assert alone.text == answer.text, "an edited question is asked as it is"


@pytest.mark.parametrize("before", [WHO, "Who is the mayor of Ashmere?"])
def test_another_topic_inherits_nothing(base, before):
    question = "Who approves trips abroad?"
    answer, understood = ask_in_turn(base, before, question)
    assert not understood
    assert answer.text == base.ask(question).text


def test_a_question_without_an_answer_gives_its_names_to_the_next(base):
    answer, understood = ask_in_turn(
        base, "What does the mayor of Ashmere earn?", "On which channel is the lifeboat there?"
    )
    assert "Ashmere" in understood
    assert "channel 16" in answer.text


LEASE = """# The flat in Elm Lane

The rent of the flat is 940 euros a month. The rent is paid by the tenant on the third working day.

The deposit is 1,880 euros. The deposit is paid by the agency Norrin, and returned after six weeks.

The cleaning fee is 45 euros. The cleaning fee is paid by the landlady, Ada Brandt.
"""
LEASE_ZH = """# 榆树路的房屋

月租金为3800元。月租金由租客支付。

押金为7600元。押金由诺林公司支付。

帆船俱乐部的会费为每年1200元。会费由吴敏收取。
"""


@pytest.fixture(scope="module")
def amounts(tmp_path_factory):
    with knotwork.open(tmp_path_factory.mktemp("amounts") / "a.knot", embedding_model="none") as kb:
        kb.index_documents([Document("lease.md", LEASE), Document("合同.md", LEASE_ZH)])
        yield kb


@pytest.mark.parametrize(
    ("questions", "meant", "held"),
    [
        (
            ("How much is the rent?", "How much is the deposit?", "Who pays it?"),
            "deposit",
            "Norrin",
        ),
        (("What is the rent?", "And the cleaning fee?", "Who pays that?"), "cleaning", "Brandt"),
        (("How much is the deposit?", "Who pays that amount?"), "deposit", "Norrin"),
        (("月租金是多少？", "押金是多少？", "它由谁支付？"), "押金", "诺林"),
        (("月租金是多少？", "押金呢？", "这由谁支付？"), "押金", "诺林"),
        (("押金是多少？", "这笔钱由谁支付？"), "押金", "诺林"),
        (("帆船俱乐部的会费是多少？", "它由谁收取？"), "会费", "吴敏"),
    ],
)
def test_a_pronoun_after_an_amount_means_what_was_measured_last(amounts, questions, meant, held):
    answer, understood = ask_in_turn(amounts, *questions)
    assert meant in understood
    assert held in answer.text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the place of birth of Ida Moe?", "Ida Moe, a Dane, was born in Tarnby, in May."),
        ("What is the country of Skarrow?", "Skarrow, near the Moe Bank, is a town in Tarnby."),
    ],
)
def test_it_means_the_place_that_was_asked_for(base, question, answer):
    turns = [(question, answer)]
    asked = base.ask("How many people live in it?", turns=turns)
    assert "Understood as: How many people live in Tarnby?" in asked.notes
