"""Files of questions with expected answers; errors name the line."""

import json

import pytest

from knotwork._extensions.evaluation.questions import AnswerQuestion, read_answer_questions
from knotwork.errors import ConfigError


@pytest.fixture
def read(tmp_path):
    def write_and_read(text, name="questions.jsonl"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_answer_questions(path)

    return write_and_read


def line(**record):
    return json.dumps({"question": "Who?", **record}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("Ada", (("Ada",),)),
        (["Ada", "Lovelace"], (("Ada", "Lovelace"),)),
        ([["Ada", "Lovelace"], ["Grace"]], (("Ada", "Lovelace"), ("Grace",))),
        ([], ()),
    ],
)
def test_answers_are_a_string_alternatives_or_parts(read, given, parts):
    (question,) = read(line(answers=given))
    assert question.answers == parts
    assert question.is_answerable is bool(parts)


def test_a_full_record_of_a_manual(read):
    record = line(
        qid="pg-1",
        type="fact",
        lang="en",
        answers=[["1s"]],
        evidence=[{"file": "locks.html", "quote": "It is 1s."}, {"file": "locks.html"}],
    )
    assert read(record) == (
        AnswerQuestion(
            "Who?", (("1s",),), ("locks.html",), ("It is 1s.",), type="fact", id="pg-1", line=1
        ),
    )


def test_documents_may_be_named_as_in_a_data_set(read):
    pids, groups, named = read(
        "\n\n".join(
            [
                line(answers="x", gold_pids=["a", "b"]),
                line(answers="x", gold_groups=[["a", "b"], ["c"]], gold_pids=["d"]),
                line(answers="x", documents="a.md"),
            ]
        )
    )
    assert (pids.documents, groups.documents) == (("a", "b"), ("a", "b", "c"))
    assert named.documents == ("a.md",)
    assert [pids.id, groups.id, named.id] == ["line 1", "line 3", "line 5"]


def test_a_table_has_columns_in_any_order(read):
    table = (
        "Type,Question,Answer,Answer 2,Document,Quote\n"
        'fact,"Who, then?",Ada | Lovelace,,a.md | b.md,"Ada\ndid it."\n'
        "\n"
        "list,Who else?,Grace,Joan,,\n"
        "none,Why?,,,,\n"
    )
    first, second, third = read(table, "questions.csv")
    assert first == AnswerQuestion(
        "Who, then?",
        (("Ada", "Lovelace"),),
        ("a.md", "b.md"),
        ("Ada\ndid it.",),
        type="fact",
        id="line 2",
        line=2,
    )
    assert (second.answers, second.line) == ((("Grace",), ("Joan",)), 5)
    assert not third.is_answerable


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "question,answer\r\nWho?,Ada\r\n"),
        ("q.csv", "\ufeffquestion;answer\nWho?;Ada\n"),
        ("q.csv", "question\tanswer\nWho?\tAda\n"),
        ("Q.TSV", "question\tanswer\nWho?\tAda"),
        ("q.jsonl", '\ufeff{"question": "Who?", "answers": "Ada"}\r\n'),
        ("q", '{"question": " Who? ", "answers": ["Ada"]}'),
    ],
)
def test_output_of_programs_is_read(read, name, text):
    (question,) = read(text, name)
    assert (question.text, question.answers) == ("Who?", (("Ada",),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question": "Who?"', "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("9" * 10_000, "line 1 is not JSON"),
        ("\n[]", "line 2 is not an object"),
        ('{"question": "Who?"}', "line 1 has no `answers`"),
        ('{"answers": []}', "line 1 has no text under `question`"),
        (line(question="  ", answers=[]), "line 1 has no text under `question`"),
        (line(answers=7), "line 1 has no list under `answers`"),
        (line(answers=None), "line 1 has no list under `answers`"),
        (line(answers=[7]), "values other than strings under `answers`"),
        (line(answers=["a", ["b"]]), "mixes strings and lists"),
        (line(answers=[["a"], []]), "a part without an answer"),
        (line(answers=["a", " "]), "an empty answer"),
        (line(answers=[], evidence=[3]), "evidence that is neither"),
        (line(answers=[], evidence={"file": "a"}), "no list under `evidence`"),
        (line(answers=[], gold_pids=["a"]), "names documents or quotes, but no answer"),
        (line(answers=[], evidence=["a"]), "names documents or quotes, but no answer"),
        (line(answers=[], type=3), "no string under `type`"),
        (line(answers=[], documents=[3]), "values other than strings under `documents`"),
        (f"{line(qid='a', answers=[])}\n{line(qid='a', answers=[])}", "line 2 repeats the id `a`"),
        ("\n \n", "contains no question"),
        (b"\xff\xfe\x00", "is not UTF-8"),
    ],
)
def test_a_wrong_line_is_named(read, text, said):
    with pytest.raises(ConfigError, match=r"questions\.jsonl") as caught:
        read(text)
    assert said in caught.value.message
    assert caught.value.fix or "text under" in said or "under `" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who,answer\nWho?,Ada\n", "line 1 has no columns `question` and `answer`"),
        ("question,reply\nWho?,Ada\n", "line 1 has no columns `question` and `answer`"),
        ("question,answer\nWho, then?,Ada\n", "line 2: expected 2 cells, found 3"),
        ("question,answer\nWho?,Ada\nWhy?\n", "line 3: expected 2 cells, found 1"),
        ('question,answer\n"a\nb",c\n ,Ada\n', "line 4 has no text under `question`"),
        ('question,answer\n"Who?,Ada\n', "line 2 is not CSV"),
        ("question,answer\nWho?, | |\n", "a part without an answer"),
        ("question,answer,id\nWho?,a,1\nWhy?,b,1\n", "line 3 repeats the id `1` of line 2"),
        ("question,answer,document\nWho?,,a.md\n", "names documents or quotes, but no answer"),
        ("question,answer\n", "contains no question"),
        ("", "contains no question"),
    ],
)
def test_a_wrong_row_is_named(read, text, said):
    with pytest.raises(ConfigError) as caught:
        read(text, "questions.csv")
    assert said in caught.value.message


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.csv` does not exist"):
        read_answer_questions(tmp_path / "none.csv")
