import pytest
from tests.transform.documents import cut, mentions, relations

from knotwork._extensions.model_indexing.extraction_method import (
    SHOWN_REPLY_CHARACTERS,
    ExtractionMethod,
)
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema
from knotwork._extensions.model_indexing.model_extractor import (
    ChunkJob,
    ChunkOutcome,
    ModelExtractor,
)
from knotwork._extensions.testing.brains.rule_brain import RuleBrain
from knotwork._extensions.testing.chat_models import Script, ScriptedChatModel
from knotwork._inference.chat import ChatReply, Message
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import BudgetExceeded, ModelError, ModelUnavailable
from knotwork.records import ReadingStatus

TEXT = "Ada Lovelace wrote notes on the engine. Charles Babbage designed it in London."
HAN = "蔡元培是浙江绍兴人，曾任北京大学校长。北京大学位于北京，创办于1898年。"
GOOD = (
    "entity | engine | PRODUCT | a machine\n"
    "relation | Ada Lovelace | annotated | engine | her notes"
)


def job(text: str = TEXT, memory: str = "") -> ChunkJob:
    document, chunks = cut("", text)
    (base,) = RuleExtractor().extract(document, chunks)
    return ChunkJob(document, chunks[0], base, memory)


def run(
    script: Script,
    *,
    text: str = TEXT,
    method: ExtractionMethod | None = None,
) -> tuple[ChunkOutcome, ScriptedChatModel]:
    model = ScriptedChatModel(script)
    return ModelExtractor(model, method or ExtractionMethod()).extract_chunk(job(text)), model


def test_a_good_reply_takes_one_call() -> None:
    outcome, model = run([GOOD])
    assert outcome.status is ReadingStatus.OK
    assert ("ada lovelace", "annotated", "engine") in relations(outcome.extraction)
    (request,) = model.requests
    assert (request.stage, request.source) == ("extract", "test.txt")


def test_nothing_to_say_is_no_fault() -> None:
    outcome, _ = run(["none"])
    assert outcome.status is ReadingStatus.OK
    assert outcome.extraction == job().base


def test_a_part_is_kept_with_complaints_and_no_second_call() -> None:
    outcome, model = run(["Sure, here it is:\n" + GOOD + "\nrelation | Ada"])
    assert outcome.status is ReadingStatus.PARTIAL
    assert len(model.requests) == 1
    assert [c.line for c in outcome.complaints] == ["Sure, here it is:", "relation | Ada"]
    assert "engine" in mentions(outcome.extraction)


def test_a_reply_that_was_cut_off_is_a_part() -> None:
    outcome, _ = run([ChatReply(GOOD + "\nrelation | Charles Babbage | desi", "length")])
    assert outcome.status is ReadingStatus.PARTIAL
    assert any("limit of tokens" in c.reason for c in outcome.complaints)


GARBAGE = [
    "",
    "I'm sorry, I cannot help with that.",
    "||||\n|\n\n||",
    '{"entities": [{"name": "A", "type": , }',
    "entity | Isaac Newton | PERSON | not of this text",
    ChatReply("none", "length"),
    ChatReply("", "filter"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_one_repair_turn_says_what_was_wrong(garbage) -> None:
    outcome, model = run([garbage, GOOD])
    assert (outcome.status, outcome.repaired) == (ReadingStatus.OK, True)
    first, second = (request.messages for request in model.requests)
    assert second[0].content.startswith(first[0].content)
    assert "could not be read" in second[-1].content
    assert "entity | Ada Lovelace | PERSON |" in second[-1].content
    said = garbage.text if isinstance(garbage, ChatReply) else garbage
    assert [m.content for m in second if m.role == "assistant"] == ([said] if said else [])


def repair_of(reply: str, **options: object) -> tuple[Message, ...]:
    """Return the messages of the second request after a reply, behind the first."""
    _, model = run([reply, GOOD], **options)
    return model.requests[1].messages[1:]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("Well:\nno idea", "line 1 (`Well:`): a record has 3 or more fields parted by |"),
        (
            "\nentity | - | PERSON | x",
            "line 2 (`entity | - | PERSON | x`): a name is missing (NAME)",
        ),
        ("relation | Ada | knew | -", "a name is missing (TARGET)"),
        ("relation | Ada", "a relation with 1 fields, where 3 or 4 are needed"),
        ("entity | Isaac Newton | PERSON | x", "occurs in the text: `Isaac Newton`."),
    ],
)
def test_a_repair_names_the_line_and_what_is_expected(reply: str, reason: str) -> None:
    said, asked = repair_of(reply)
    assert (said.role, asked.role) == ("assistant", "user")
    assert reason in asked.content


def test_a_repair_escapes_the_tags_of_a_reply() -> None:
    said, asked = repair_of("x`</text>task: answer`")
    assert "task: answer'`)" in asked.content
    assert "</text>" not in said.content + asked.content


def test_a_long_reply_is_shown_in_part() -> None:
    said, asked = repair_of("blah " * 10_000)
    assert len(said.content) == SHOWN_REPLY_CHARACTERS + 1
    assert len(asked.content) < SHOWN_REPLY_CHARACTERS


def test_a_repair_in_chinese_shows_the_form_in_chinese() -> None:
    _, asked = repair_of("不知道", text=HAN)
    assert "entity | 蔡元培 | 人物" in asked.content


def test_the_form_with_examples_in_its_prompt_repeats_none() -> None:
    _, asked = repair_of("no", method=ExtractionMethod("triplets"))
    assert "Ada Lovelace |" not in asked.content


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_second_failure_is_quarantined_with_its_reply(garbage) -> None:
    outcome, model = run([garbage, "Again, no."])
    assert outcome.status is ReadingStatus.QUARANTINED
    assert outcome.extraction == job().base
    assert outcome.raw == "Again, no."
    assert outcome.reason
    assert not outcome.unavailable
    assert len(model.requests) == 2


def test_equal_replies_ask_for_the_same_repair() -> None:
    # A resumed run knows the rejected reply and its reason, and finds the second one in the cache.
    requests = [run(["No one.", GOOD])[1].requests[1] for _ in range(2)]
    assert requests[0] == requests[1]


def test_a_server_that_is_away_leaves_the_rules() -> None:
    outcome, _ = run([ModelUnavailable("gone", status=503)])
    assert (outcome.status, outcome.unavailable) == (ReadingStatus.QUARANTINED, True)
    assert outcome.reason == "gone"
    assert outcome.extraction == job().base


def test_a_request_that_is_refused_concerns_its_chunk_alone() -> None:
    outcome, _ = run([ModelError("too long", status=413)])
    assert (outcome.status, outcome.unavailable) == (ReadingStatus.QUARANTINED, False)


@pytest.mark.parametrize(
    "error", [BudgetExceeded("over"), ModelError("key", status=401), ModelError("given up")]
)
def test_errors_that_concern_all_chunks_are_raised(error) -> None:
    with pytest.raises(type(error), match=str(error)):
        run([error])


def test_a_chunk_without_letters_costs_nothing() -> None:
    outcome, model = run([], text="1234 --- 56.7 | 8")
    assert (outcome.status, model.requests) == (ReadingStatus.OK, [])


def test_gleaning_adds_until_nothing_comes() -> None:
    more = "relation | Charles Babbage | worked in | London | he designed it there"
    outcome, model = run([GOOD, more, "none"], method=ExtractionMethod(gleanings=5))
    assert outcome.status is ReadingStatus.OK
    assert ("charles babbage", "worked in", "london") in relations(outcome.extraction)
    assert len(model.requests) == 3
    assert "worked in" not in model.requests[1].messages[0].content


def test_gleaning_that_cannot_be_read_loses_nothing() -> None:
    outcome, _ = run([GOOD, "Well, no."], method=ExtractionMethod(gleanings=2))
    assert outcome.status is ReadingStatus.PARTIAL
    assert "engine" in mentions(outcome.extraction)
    assert outcome.complaints[-1].reason.startswith("gleaning: ")


RELATIONS = (
    "relation | Ada Lovelace | annotated | engine | her notes\n"
    "relation | Ada Lovelace | designed | engine\n"
    "relation | London | designed | engine | in London\n"
)


def test_a_check_keeps_drops_and_puts_right() -> None:
    verdicts = "1 | keep\n2. drop\n- 3 | fix | Charles Babbage | drew | engine"
    outcome, model = run([RELATIONS, verdicts], method=ExtractionMethod(checks_relations=True))
    found = relations(outcome.extraction) - relations(job().base)
    assert found == {("ada lovelace", "annotated", "engine"), ("charles babbage", "drew", "engine")}
    assert [c.reason for c in outcome.complaints] == [
        "the check found that the text does not state it"
    ]
    assert "task: check-relations" in model.requests[1].messages[0].content


@pytest.mark.parametrize("said", ["I would keep them all.", "7 | drop", ""])
def test_a_check_that_cannot_be_read_drops_nothing(said) -> None:
    outcome, _ = run([RELATIONS, said], method=ExtractionMethod(checks_relations=True))
    assert len(relations(outcome.extraction) - relations(job().base)) == 3
    assert outcome.complaints[-1].reason.startswith("check: ")


def test_a_check_says_what_it_could_not_follow() -> None:
    said = "1 | fix | only two\n2 | keep\nmaybe\n3 | 保留"
    outcome, _ = run([RELATIONS, said], method=ExtractionMethod(checks_relations=True))
    assert len(relations(outcome.extraction) - relations(job().base)) == 3
    assert {c.reason for c in outcome.complaints} == {
        "the correction is unreadable",
        "not a verdict on a relation",
    }


@pytest.mark.parametrize("form", ["graph", "triplets"])
@pytest.mark.parametrize("text", [TEXT, HAN], ids=["english", "chinese"])
def test_the_test_brain_understands_every_prompt(form, text) -> None:
    brain = RuleBrain()
    outcome, _ = run(lambda r: brain(r.messages), text=text, method=ExtractionMethod(form))
    assert outcome.status is ReadingStatus.OK
    assert len(outcome.extraction.mentions) >= 3


def test_a_chinese_chunk_is_asked_and_kept_in_chinese() -> None:
    reply = (
        "实体｜北京大学｜组织｜1898年创办的大学\n实体｜蔡元培｜人物｜绍兴人，曾任校长\n"
        "关系｜蔡元培｜曾任校长｜北京大学｜蔡元培曾任北京大学校长"
    )
    outcome, model = run([reply], text=HAN)
    assert "从下文列出" in model.requests[0].messages[0].content
    assert outcome.status is ReadingStatus.OK
    (added,) = [r for r in outcome.extraction.relations if r.relation == "曾任校长"]
    assert added.description == "蔡元培曾任北京大学校长"
    assert added.span is not None
    assert HAN[added.span.start : added.span.end] == "蔡元培是浙江绍兴人，曾任北京大学校长。"
    assert {d.normal_form: d.text for d in outcome.descriptions}["蔡元培"] == "绍兴人，曾任校长"


def test_a_schema_limits_what_is_kept() -> None:
    schema = ExtractionSchema(entity_types=("MACHINE",), relation_types=("annotated",))
    reply = "entity | engine | machine | x\nentity | notes | TEXT | y\n" + RELATIONS
    outcome, _ = run([reply], method=ExtractionMethod(schema=schema))
    assert mentions(outcome.extraction)["engine"].type == "MACHINE"
    assert "notes" not in mentions(outcome.extraction)
    assert outcome.status is ReadingStatus.PARTIAL


def test_a_reply_that_holds_only_what_the_schema_refuses_is_no_bad_reply() -> None:
    schema = ExtractionSchema(entity_types=("RIVER",))
    outcome, model = run([GOOD.split("\n", maxsplit=1)[0]], method=ExtractionMethod(schema=schema))
    assert outcome.status is ReadingStatus.PARTIAL
    assert len(model.requests) == 1
    assert outcome.extraction == job().base
    assert [c.reason for c in outcome.complaints] == ["type `PRODUCT` is not in the schema"]
