"""Remembered facts as evidence: find those that answer a question, and state them as [M1], [M2].

Facts that a person stated in a conversation are searched before the documents. Without a model,
those that answer are put before the sentences of the documents. Precision comes before recall:
besides names, every word of a question must be explained by the relation of a fact or by the kind
that is asked for. A model gets the facts as a block of their own, and its marks lead back to them
as the numbers of passages do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from knotwork._inference.chat import ChatRequest, Message
from knotwork._inference.own_prompts import OwnPrompts
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.asked_facts import Fit
from knotwork._questions.headlines import fit_kind
from knotwork._questions.reading import AnswerKind, QuestionReading, reading_of
from knotwork._synthesis.grounding.texts import read_text
from knotwork._synthesis.messages import fill_prompt
from knotwork._synthesis.prompt_context import PromptPassage
from knotwork._text.languages import HAN_CHARACTER, simplify
from knotwork._text.plain_text import gap_before_mark, gap_between, show_sentence
from knotwork._text.terms import content_terms
from knotwork.records import Answer, Chunk, Citation, MemoryCitation, Span

SPEAKER = "the user"
"""The subject of statements in the first person."""

OF_SPEAKER = re.compile(r"\b(?:I|my|me|mine|we|our|us)\b|我", re.IGNORECASE)
"""A word of the first person."""

MOST_STATED = 4
"""The most facts that an answer without a model states."""

_HOW_LONG = re.compile(r"\bhow long\b|多久", re.IGNORECASE)
_WHAT = re.compile(r"\bwhat\b|什么", re.IGNORECASE)
_REASON = re.compile(
    r"\bwhy\b|^\W*how\b(?! (?:much|many|long|old|often|far))|为什么|为何|怎么|如何", re.IGNORECASE
)
_EVERYTHING = re.compile(
    r"\b(?:tell me|describe|know|remember|remembered)\b.*\b(?:about|of)\b"
    r"|介绍|说说|知道.*什么|记得.*什么",
    re.IGNORECASE,
)
_LOCATIVE = re.compile(r"\b(?:in|at|near)$|在|位于|[住家]")
_DESCRIBING = re.compile(r"\b(?:of|as)$")
_GENERIC = frozenset(
    content_terms(
        "tell know remember currently current today nowadays present still start"
        " begin since moment name called city town country place person people somebody company"
        " organisation organization language year month date day kind big large high"
    )
) | {
    *("现在", "目前", "开始", "今天", "告诉", "知道", "记得", "介绍", "叫", "名字", "做"),
    *("城市", "国家", "地方", "公司", "组织", "语言", "部门", "人"),
}
_SAME_MEANING = (
    "lead head run manage charge responsible", "负责 主管 管",
    "live reside home house move base", "住 居住 家 搬",
    "work job employ employer company", "工作 上班 就职 任职 职业",
    "like love prefer favourite favorite", "喜欢 喜爱 爱",
    "report manage boss supervisor", "cost price expensive", "study attend school university",
    "使用 用",
)  # fmt: skip
_GROUPS = tuple(
    frozenset(content_terms(words) if words.isascii() else words.split()) for words in _SAME_MEANING
)
_LEADING = _GROUPS[0] | _GROUPS[1]
_REPORTING = frozenset(content_terms("report"))
_POSSESSIVE = re.compile(r"['’]s\b|\bof\b|的", re.IGNORECASE)
_TURNED = re.compile(r"['’]s\b|\bof\b|\bby\b|的|被|由", re.IGNORECASE)


@dataclass(frozen=True)
class AskedText:
    """A question, or a sentence, as it is compared with facts.

    ``described`` are the names that it describes, as "my manager" does, each with the fact that
    says so.
    """

    text: str
    described: Mapping[str, MemoryCitation] = field(default_factory=dict)

    @cached_property
    def reading(self) -> QuestionReading:
        return reading_of(self.text)

    @cached_property
    def plain(self) -> str:
        return self.reading.simple.casefold()

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(self.reading.terms)

    @cached_property
    def proper(self) -> frozenset[str]:
        """The words that are names."""
        return frozenset(word.term for word in read_text(self.text).words if word.is_name)

    def names(self, end: str) -> bool:
        """Return True if the question names or describes the subject or object of a fact."""
        bare = _without_speaker(end)
        if bare != end and not OF_SPEAKER.search(self.text):
            return False
        return end in self.described or self._find(bare) >= 0 or self.has_words(bare)

    def has_words(self, text: str) -> bool:
        """Return True if the question has all content words of a text, and there are any."""
        words = set(content_terms(text))
        return bool(words) and words <= self.terms

    def _find(self, name: str) -> int:
        """Return the place of a name as a whole, or -1."""
        form = simplify(name).casefold()
        if HAN_CHARACTER.search(form):
            return self.plain.find(form)
        found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", self.plain)
        return found.start() if found else -1

    def rest(self, ends: Sequence[str]) -> set[str]:
        """Return the content words of the question without the names of these ends."""
        text = self.plain
        described = [self.described[end] for end in ends if end in self.described]
        ends = [*ends, *(part for fact in described for part in (fact.subject, fact.relation))]
        for end in ends:
            bare = simplify(_without_speaker(end)).casefold()
            if bare:
                text = text.replace(bare, " " * len(bare))
            words = {word.term for word in read_text(bare).words}
            for word in read_text(text).words:
                if word.term in words:
                    text = text[: word.start] + " " * (word.end - word.start) + text[word.end :]
        return {word.term for word in read_text(text).words}

    def is_answered_by(self, fact: MemoryCitation) -> bool:
        """Return True if a fact holds what is asked about the names of the question."""
        ends = [end for end in (fact.subject, fact.object) if self.described.get(end) != fact]
        named = [end for end in ends if self.names(end)]
        if not named or self._asks_something_else(fact, named):
            return False
        relation = _words_of(fact.relation)
        rest = self.rest(named) - (_GENERIC - relation)
        if rest - relation:
            # "Does Ann live in Rome?" is answered by where she lives.
            is_other = self.reading.asks_yes_or_no and rest - relation <= self.proper
            return is_other and bool(rest & relation) and self.fits_order(fact)
        if self.asks_time:
            is_stated = bool(fact.until) or ("T" not in fact.since and bool(fact.since))
            return is_stated and (bool(rest) or len(named) > 1)
        if rest or _EVERYTHING.search(self.text) or len(named) > 1:
            return True
        if self.reading.asks_where:
            return bool(_LOCATIVE.search(fact.relation))
        is_described = bool(_DESCRIBING.search(fact.relation)) or fact.object == SPEAKER
        return (self.reading.asks_who or bool(_WHAT.search(self.plain))) and (
            not relation or (is_described and fact.subject in named)
        )

    def _asks_something_else(self, fact: MemoryCitation, named: Sequence[str]) -> bool:
        """Return True for a reason or manner, and if "Ann's manager" is the other one.

        Whoever manages Ann is her manager, and so is the one to whom she reports.
        """
        if _REASON.search(self.text):
            return True
        own = {word.term for word in read_text(simplify(fact.relation)).words}
        if not _POSSESSIVE.search(self.text) or own & self.terms & _REPORTING:
            return False
        return bool(
            (own & _LEADING and fact.object not in named)
            or (own & _REPORTING and fact.subject not in named)
        )

    def fits_order(self, fact: MemoryCitation) -> bool:
        """Return True unless the question has the name of a fact on the other side of its verb.

        "Who does Ann report to?" has the name where a subject is, "Who reports to Ann?" where an
        object is.
        """
        is_subject, is_object = self.names(fact.subject), self.names(fact.object)
        if is_subject == is_object or _TURNED.search(self.text):
            return True
        end = fact.subject if is_subject else fact.object
        place = self._find(_without_speaker(end))
        if end == SPEAKER or end in self.described:
            found = OF_SPEAKER.search(self.text)
            place = found.start() if found else -1
        relation = _words_of(fact.relation)
        verb = next((w.start for w in read_text(self.plain).words if w.term in relation), -1)
        return place < 0 or verb < 0 or (place < verb) == is_subject

    def states_same(self, fact: MemoryCitation) -> bool:
        """Return True if a sentence has the subject of a fact and a word of its relation."""
        words = {word.term for word in read_text(self.plain).words}
        return self.names(fact.subject) and bool(words & _words_of(fact.relation))

    @property
    def asks_time(self) -> bool:
        """Whether the question asks when or how long."""
        asked, is_date = self.reading, AnswerKind.DATE in self.reading.expected.kinds
        return is_date or asked.asked_when is not None or bool(_HOW_LONG.search(self.plain))


def describe_names(question: str, facts: Sequence[MemoryCitation]) -> dict[str, MemoryCitation]:
    """Return the names that a question describes by the person of the user, each with its fact.

    "My manager" describes Ben if the user's manager is Ben, or if Ben is a manager of the user.
    """
    asked, found = AskedText(question), dict[str, MemoryCitation]()
    if not OF_SPEAKER.search(question):
        return found
    for fact in facts:
        if fact.object == SPEAKER:
            role = fact.relation
            if asked.has_words(role) or simplify(role).casefold() in asked.plain:
                found.setdefault(fact.subject, fact)
            continue
        is_own = fact.subject.startswith(f"{SPEAKER}'s ") and not _words_of(fact.relation)
        if is_own and asked.names(fact.subject):
            found.setdefault(fact.object, fact)
    return found


def find_answering(question: str, facts: Sequence[MemoryCitation]) -> list[MemoryCitation]:
    """Return the facts that answer a question, or a part of it, in the order given.

    A fact answers if the question names its subject or object, and its relation has the other
    words, or is of the kind that is asked for: where, when, who or what. If the question describes
    the name, as in "where does my manager live?", the fact that says who that is comes first.
    """
    if not facts:
        return []
    division = reading_of(question).division
    parts = [part.text for part in division.parts] if division else [question]
    found: set[int] = set()
    bridges: dict[int, MemoryCitation] = {}
    for part in parts:
        asked = AskedText(part, describe_names(part, facts))
        answering = [fact for fact in facts if asked.is_answered_by(fact)]
        fitting = [fact for fact in answering if asked.fits_order(fact)]
        for fact in fitting or answering:
            found.add(fact.number)
            if bridge := asked.described.get(fact.subject) or asked.described.get(fact.object):
                bridges[fact.number] = bridge
    ordered: dict[int, MemoryCitation] = {}
    for fact in facts:
        if fact.number in found:
            for each in (bridges.get(fact.number, fact), fact):
                ordered.setdefault(each.number, each)
    return list(ordered.values())[:MOST_STATED]


def _words_of(relation: str) -> set[str]:
    """Return the content words of a relation and words with the same meaning."""
    words = {word.term for word in read_text(simplify(relation)).words}
    return words.union(*(group for group in _GROUPS if group & words))


def _without_speaker(end: str) -> str:
    """Return the end of a fact without "the user" or "the user's"."""
    return end.removeprefix(SPEAKER).removeprefix("'s").strip() if end.startswith(SPEAKER) else end


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
    # Only our marks look like marks.
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
    is_fitting = fit_kind(reading_of(question), asked[0], "", "") is not Fit.OTHER
    return asked[0] if agrees and is_fitting else ""


def fact_passages(facts: Sequence[MemoryCitation]) -> list[PromptPassage]:
    """Return facts as passages of a prompt, with the negative of their numbers."""
    passages = []
    for fact in facts:
        span = Span(0, len(fact.text))
        chunk = Chunk(f"memory-{fact.number}", "", "", fact.number, span, fact.text)
        line = f"[M{fact.number}] {escape_passage(fact.text)}"
        passages.append(PromptPassage(-fact.number, chunk, (span,), line, span))
    return passages


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
