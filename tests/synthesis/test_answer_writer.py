"""A model writes the answer; if it fails, sentences are quoted, and nothing is lost."""

import pytest
from tests.synthesis.written import QUESTION, TEXTS, make_evidence, shown_text, write

from knotwork._config import AnswerSettings
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import BrokenStream, ScriptedChatModel
from knotwork._inference.call_cache import CallCache
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatReply
from knotwork._run import Stage
from knotwork._synthesis.answer_writer import NOT_ASKED, SOURCES_SILENT, make_answer_request
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.messages import no_answer
from knotwork._text.token_counts import count_tokens
from knotwork.errors import (
    BudgetExceeded,
    ModelError,
    ModelUnavailable,
    StoreError,
    Unparsable,
)

GOOD = "The Travel Office approves trips abroad [1]. Its head was born in London [2]."


@pytest.fixture
def cache():
    cache = CallCache(":memory:")
    yield cache
    cache.close()


@pytest.fixture
def quoted():
    evidence, store = make_evidence()
    return compose_answer(evidence, store=store)


def test_an_answer_is_streamed_as_it_stands_in_the_end():
    answer, events, model = write(GOOD)
    assert answer.text == GOOD == shown_text(events)
    assert answer.answered
    assert answer.model == model.name
    assert answer.notes == ()
    assert [event.stage for event in events][:2] == [Stage.ASKED, Stage.TEXT]
    assert [c.quote for c in answer.citations] == [
        "Trips abroad are approved by the Travel Office.",
        "Ada Lovelace was born in London.",
    ]
    for number, citation in enumerate(answer.citations, start=1):
        text = TEXTS[citation.title]
        assert citation.number == number
        assert text[citation.span.start : citation.span.end] == citation.quote
    asked = sum(count_tokens(message.content) for message in model.requests[0].messages)
    assert (answer.usage.model_calls, answer.usage.input_tokens) == (1, asked)
    assert answer.usage.output_tokens == count_tokens(GOOD)


def test_a_question_asked_twice_costs_nothing_the_second_time(cache):
    first, _, _ = write(GOOD, cache=cache)
    again, events, model = write([], cache=cache)
    assert model.requests == []
    assert (again.text, again.citations) == (first.text, first.citations)
    assert shown_text(events) == first.text
    usage = again.usage
    assert (usage.model_calls, usage.input_tokens, usage.output_tokens) == (0, 0, 0)
    assert usage.reused_calls == 1


def test_money_is_reported_where_the_price_is_known():
    prices = PriceTable.read(["scripted:* 1 1"])
    answer, _, _ = write(GOOD, prices=prices)
    tokens = answer.usage.input_tokens + answer.usage.output_tokens
    assert answer.usage.money * 1_000_000 == tokens
    assert write(GOOD)[0].usage.money is None


def test_the_model_alone_judges_answers_of_low_confidence():
    answer, _, model = write([GOOD], evidence=make_evidence(confidence=0.01))
    assert len(model.requests) == 1
    assert (answer.answered, answer.model) == (True, model.name)


def test_without_evidence_the_model_is_not_asked():
    answer, _, model = write([], evidence=make_evidence(texts={}))
    assert model.requests == []
    assert answer.notes == (NOT_ASKED,)
    assert (answer.answered, answer.citations) == (False, ())


@pytest.mark.parametrize("question", [QUESTION, "谁审批海外出差？"])
@pytest.mark.parametrize("piece", [1, 7, 1_000])
def test_not_knowing_is_no_answer_but_the_nearest_passages(question, piece, cache):
    said = no_answer("zh" if question != QUESTION else "en")
    model = ScriptedChatModel(said, piece_characters=piece)
    answer, events, _ = write(model, question, cache=cache)
    assert (answer.answered, answer.reason) == (False, SOURCES_SILENT)
    assert answer.text == said
    assert answer.citations
    assert answer.model == model.name
    # Nothing was shown that had to be taken back; and to know so costs nothing again.
    assert [event.stage for event in events] == [Stage.ASKED]
    assert write([], question, cache=cache)[0].usage.model_calls == 0


def test_not_knowing_after_other_words_takes_them_back():
    answer, events, _ = write(f"Let me see. {no_answer('en')}")
    assert not answer.answered
    assert shown_text(events) == ""


@pytest.mark.parametrize("reply", ["Nobody knows who does.", "]]}{ | | :: 0x3F", "  "])
def test_a_reply_that_cites_nothing_is_kept_apart_and_sentences_are_quoted(reply, cache, quoted):
    answer, events, _ = write(reply, cache=cache)
    assert (answer.text, answer.citations) == (quoted.text, quoted.citations)
    assert answer.answered
    assert answer.model == ""
    assert len(answer.notes) == 1
    assert answer.usage.model_calls == 1
    assert shown_text(events) == ""
    assert [rejected.stage for rejected in cache.rejected()] == ["answer"]
    # It is not asked for again, nor served.
    again, _, model = write([], cache=cache)
    assert model.requests == []
    assert (again.text, again.usage.model_calls) == (quoted.text, 0)
    assert "--retry" in again.notes[0]


@pytest.mark.parametrize(
    "failure",
    [
        ModelUnavailable("The server does not answer."),
        ModelError("The server refuses the key.", status=401),
        BudgetExceeded("The budget is reached."),
        BrokenStream("The Travel Office appro", ModelUnavailable("The stream broke off.")),
    ],
)
def test_a_failing_model_costs_no_answer(failure, quoted):
    answer, events, _ = write([failure])
    assert (answer.text, answer.citations) == (quoted.text, quoted.citations)
    error = failure.error if isinstance(failure, BrokenStream) else failure
    assert error.message in answer.notes[0]
    assert answer.model == ""
    assert shown_text(events) == ""
    with pytest.raises(type(error)):
        write([failure], fallback=False)


def test_without_fallback_a_reply_that_cites_nothing_is_an_error():
    with pytest.raises(Unparsable):
        write("Nobody knows.", fallback=False)


def test_a_reply_that_was_paid_for_is_used_though_it_cannot_be_kept(cache, monkeypatch):
    def fail(*_):
        raise StoreError("There is no room left.")

    monkeypatch.setattr(cache, "accept", fail)
    answer, events, _ = write(GOOD, cache=cache)
    assert answer.text == GOOD == shown_text(events)
    assert "no room left" in answer.notes[-1]
    assert answer.usage.model_calls == 1

    monkeypatch.setattr(cache, "reject", fail)
    answer, _, _ = write("It cites nothing at all.", cache=cache)
    assert "cites none" in answer.notes[-1]
    assert answer.model == ""


def test_notes_on_the_surroundings_come_first():
    answer, _, _ = write("The Travel Office does [1][7].", notes=["Not kept."])
    assert answer.notes[0] == "Not kept."
    assert "[7]" in answer.notes[1]


def test_a_reply_at_its_limit_is_kept_too(cache):
    write([ChatReply(GOOD, "length")], cache=cache)
    answer, _, _ = write([], cache=cache)
    assert answer.text == GOOD
    assert "cut off" in answer.notes[-1]


def test_a_whole_answer_keeps_to_its_tokens():
    texts = {
        f"Report {n} of the Travel Office": " ".join(
            f"In case {n}-{m} the Travel Office approved trips abroad to Tarnby and Corvane."
            for m in range(40)
        )
        for n in range(10)
    }
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    answer, _, _ = write(model, evidence=make_evidence(texts=texts))
    assert answer.citations
    (request,) = model.requests
    asked = sum(count_tokens(message.content) for message in request.messages)
    assert asked + request.max_output_tokens <= 5_200
    small = AnswerSettings(context_tokens=300)
    _, _, model = write(GOOD, evidence=make_evidence(texts=texts), settings=small)
    asked = sum(count_tokens(message.content) for message in model.requests[0].messages)
    assert asked < 300 + 450


def test_equal_evidence_makes_equal_requests():
    answer, _, model = write(GOOD)
    assert answer.answered
    assert write(GOOD)[2].requests == model.requests
    assert make_answer_request(QUESTION, []).stage == "answer"
