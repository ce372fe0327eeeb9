"""A request holds a question with its options, and works as the keywords of `ask` do."""

from dataclasses import fields

import pytest

import knotwork
from knotwork._synthesis.ask_request import AskMode, AskOptions, AskRequest
from knotwork.errors import UnknownName


def test_the_options_of_ask_are_the_fields_of_a_request():
    names = {field.name for field in fields(AskRequest)}
    assert names == {"question", *AskOptions.__annotations__}


def test_an_unknown_mode_is_refused_when_the_request_is_made():
    with pytest.raises(UnknownName, match="`lokal`"):
        AskRequest("Who?", mode="lokal")
    assert AskRequest("Who?", mode="local").mode is AskMode.LOCAL


def test_a_request_is_answered_as_a_question_with_its_options(sample_path):
    question, options = "Who approves trips abroad?", {"retriever": "bm25", "k": 2, "mode": "basic"}
    with knotwork.open(sample_path, embedding_model="none", read_only=True) as base:
        request = AskRequest(question, **options)
        from_request, from_options = base.ask(request), base.ask(question, **options)
        found = base.search(request)
    assert from_request.answered
    assert from_request.text == from_options.text
    assert from_request.citations == from_options.citations
    assert (found.retriever, len(found.hits)) == ("bm25", 2)


def test_options_beside_a_request_are_refused(sample_path):
    request = AskRequest("Who approves trips abroad?")
    with knotwork.open(sample_path, embedding_model="none", read_only=True) as base:
        for ask in (base.ask, base.search):
            with pytest.raises(TypeError, match="got k beside it"):
                ask(request, k=2)
