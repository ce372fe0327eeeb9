"""Remembered facts as evidence: state those that answer a question as [M1], [M2].

Facts that a person stated in a conversation are searched before the documents. Without a model,
those that answer are put before the sentences of the documents. A model gets the facts as a block
of their own, and its marks lead back to them as the numbers of passages do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knotwork._inference.chat import ChatRequest, Message
from knotwork._inference.own_prompts import OwnPrompts
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._synthesis.citations import gap_before_mark, gap_between, show_sentence
from knotwork._synthesis.memory_matching import (
    SPEAKER,
    AskedText,
    describe_names,
    find_answering,
)
from knotwork._synthesis.prompt_context import PromptPassage, fill_prompt
from knotwork.records import Answer, Chunk, Citation, MemoryCitation, Span

MOST_SHOWN = 8
"""The most facts that a model reads."""


def choose_facts(question: str, facts: Sequence[MemoryCitation]) -> tuple[MemoryCitation, ...]:
    """Return the facts that a model reads, those that answer first, numbered from 1."""
    first = find_answering(question, facts)
    return number_facts([*first, *(fact for fact in facts if fact not in first)][:MOST_SHOWN])


def lead_with_memory(answer: Answer, facts: Sequence[MemoryCitation], *, question: str) -> Answer:
    """Put the facts that answer a question before an answer quoted from documents.

    Both are shown if the documents answer too, and may contradict each other. If they do not, or
    speak of nothing that the question names, the facts alone answer, with those sentences of the
    documents that state the same relation. Without such facts, the answer is unchanged.
    """
    stated = number_facts(find_answering(question, facts))
    if not stated:
        return answer
    text = _state(stated)
    citations = answer.citations
    said = answer.text
    has_both = answer.answered and _concerns(citations, stated, question)
    if not has_both:
        same = [c for c in citations if any(map(AskedText(c.quote).states_same, stated))]
        citations = tuple(replace(c, number=number) for number, c in enumerate(same, start=1))
        said = _join([(show_sentence(c.quote), f"[{c.number}]") for c in citations])
    return replace(
        answer,
        text=f"{text}{gap_between(text, said) if said else ''}{said}",
        short=_short_answer(stated, question, citations),
        answered=True,
        citations=citations,
        memory=stated,
        reason="",
        confidence=answer.confidence if has_both else None,
        model="",
    )


def end_with_memory(answer: Answer, facts: Sequence[MemoryCitation], *, question: str) -> Answer:
    """Put the facts that answer a question behind an answer of a model that does not state them.

    A fact is stated if the answer names both of its ends.
    """
    said = AskedText(answer.text)
    missing = [
        fact
        for fact in find_answering(question, facts)
        if not (said.has_words(fact.subject) and said.has_words(fact.object))
        and all(replace(fact, number=cited.number) != cited for cited in answer.memory)
    ]
    if not missing:
        return answer
    memory = number_facts([*answer.memory, *missing])
    more = _state(memory[len(answer.memory) :])
    text = f"{answer.text}{gap_between(answer.text, more)}{more}"
    return replace(answer, text=text, memory=memory)


def number_facts(facts: Sequence[MemoryCitation]) -> tuple[MemoryCitation, ...]:
    """Return facts numbered from 1 in the order given."""
    return tuple(replace(fact, number=number) for number, fact in enumerate(facts, start=1))


def _state(facts: Sequence[MemoryCitation]) -> str:
    """Return facts as a text, in which only our marks look like marks."""
    return _join([(escape_passage(fact.text), f"[M{fact.number}]") for fact in facts])


def _join(sentences: Sequence[tuple[str, str]]) -> str:
    text = ""
    for sentence, mark in sentences:
        text += (gap_between(text, sentence) if text else "") + sentence
        text += f"{gap_before_mark(sentence)}{mark}"
    return text


def _concerns(
    citations: Sequence[Citation], stated: Sequence[MemoryCitation], question: str
) -> bool:
    """Return True if a source is about a name of the question that a fact has; none is about "I".

    An answer without sources, such as a count, is about the question.
    """
    asked = AskedText(question, describe_names(question, stated))
    ends = [end for fact in stated for end in (fact.subject, fact.object) if asked.names(end)]
    names = [end for end in ends if not end.startswith(SPEAKER)]
    sources = [AskedText(f"{c.title} {c.section} {c.quote}") for c in citations]
    return not sources or any(source.names(name) for source in sources for name in names)


def _short_answer(
    stated: Sequence[MemoryCitation], question: str, citations: Sequence[Citation]
) -> str:
    """Return the asked end of the only fact, unless a sentence of the documents has another."""
    described = describe_names(question, stated)
    facts = [fact for fact in stated if fact not in described.values()] or stated
    fact = facts[0]
    form = AskedText(question, {} if fact in described.values() else described)
    if len(facts) > 1 or reading_of(question).asks_yes_or_no or form.asks_time:
        return ""
    asked = [end for end in (fact.subject, fact.object) if not form.names(end)]
    if len(asked) != 1 or asked[0] == SPEAKER:
        return ""
    said = [AskedText(citation.quote) for citation in citations]
    agrees = all(each.names(asked[0]) for each in said if each.states_same(fact))
    return asked[0] if agrees else ""


def fact_passages(facts: Sequence[MemoryCitation]) -> list[PromptPassage]:
    """Return facts as passages of a prompt, with the negative of their numbers."""
    return [_as_passage(fact) for fact in facts]


def _as_passage(fact: MemoryCitation) -> PromptPassage:
    span = Span(0, len(fact.text))
    chunk = Chunk(f"memory-{fact.number}", "", "", fact.number, span, fact.text)
    line = f"[M{fact.number}] {escape_passage(fact.text)}"
    return PromptPassage(-fact.number, chunk, (span,), line, span)


def add_memory(
    request: ChatRequest, facts: Sequence[PromptPassage], prompts: OwnPrompts, *, question: str
) -> ChatRequest:
    """Return a request about passages that shows remembered facts before them."""
    if not facts:
        return request
    blanks = {"facts": "\n".join(fact.text for fact in facts)}
    rules, block = fill_prompt("memory", reading_of(question).language, blanks, prompts)
    system, user, *rest = request.messages
    messages = (
        Message("system", f"{system.content}\n\n{rules.content}"),
        Message("user", f"{block.content}\n\n{user.content}"),
        *rest,
    )
    return replace(request, messages=messages)


def stated_facts(
    numbers: Sequence[int], facts: Sequence[MemoryCitation]
) -> tuple[MemoryCitation, ...]:
    """Return the facts that a reply cites, by their numbers as passages, numbered as cited."""
    by_number = {-fact.number: fact for fact in facts}
    return number_facts([by_number[number] for number in numbers])
