"""Make questions from documents, and keep those that the documents were found to answer.

A question is made from a heading that asks or names a task, from a sentence of a known form, or
from a row of a table; the forms are data, by language. Each question is asked before it is offered:
it must be answered, surely enough, from the place that it was made from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from knotwork._questions.languages import Words, fill_parts, read_words
from knotwork._synthesis.ask_request import AskRequest
from knotwork._text.languages import HAN_CHARACTER, is_wide, simplify
from knotwork._text.names import normal_form
from knotwork._text.plain_text import show_sentence, split_number, split_row
from knotwork._text.statements import is_question, is_wide_text
from knotwork._text.terms import content_terms
from knotwork._transform.rules.lexicon import common_words, name_type
from knotwork.records import Answer, Block, BlockKind, Chunk, Citation, Mention, Span

if TYPE_CHECKING:
    from knotwork._stores.base import Store

Ask = Callable[[AskRequest], Answer]
"""Answers a request from an index."""

LEAST_CONFIDENCE = 0.5
"""The least confidence of the answer to a question that is offered: a strong answer."""
_LONGEST_SENTENCE = 260
_LONGEST, _LONGEST_WIDE = 90, 32
"""Characters of a question, in English and Chinese."""
_DEFINITION = "definition"
"""The form of questions that a document may answer from another place than the sentence found."""
_OF_TASK = 0.85
"""The worth of a question made from a heading that names a task."""
_SHORTEST_WIDE = 3
"""Characters of what a Chinese question is about: shorter words may mean several things."""
_ROWS_EACH = 3
"""Rows of a table from which questions are made."""
_NEAR = 3
"""Passages before and after a cited one from which related questions are made."""
_OF_ENTITY, _MOST_CHUNKS = 3, 24
"""Passages about an entity of a cited passage, and of all."""
_FURTHER = 0.9
"""The factor of the worth of a question from a passage that is not cited."""
_NEARNESS = 0.6
"""The share of the worth that depends on the terms which a question has of the cited passages."""
_TRIES_EACH = 3
"""Questions that are tried for each one that is wanted."""
_SAME_FORM = 0.8
"""The factor of the worth of a further question of the same form."""
_LEAST_DIFFERENT = 0.5
"""The least share of the terms of a question that an earlier one lacks."""
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_PERSONAL = re.compile(r"(?:He|She|His|Her)\b|[他她](?!们)")
_LABEL = re.compile(r"[\w.-]{3,40}")
_KEY = re.compile(r"[^\W\d_][\w’'., -]{0,39}")
_NO_TEXT = frozenset(
    {BlockKind.CODE, BlockKind.FIGURE, BlockKind.TABLE, BlockKind.ROW, BlockKind.BOX}
)
_PAIRS = (("(", ")"), ("（", "）"), ("“", "”"), ("《", "》"), ("「", "」"))


@dataclass(frozen=True, slots=True)
class OfferedQuestion:
    """A question that was tried: the documents answer it from ``source``."""

    question: str
    source: Citation


class Offer(NamedTuple):
    """A question that a place of a document may answer, and how good it is, from 0 to 1."""

    question: str
    form: str
    document_id: str
    span: Span
    worth: float


class _Form(NamedTuple):
    """A form of sentences and of the question that they answer, as `offers.toml` explains."""

    sentence: Words
    question: str
    worth: float
    who: str = ""
    about: str = ""
    of_person: str = ""


@cache
def _held() -> dict[str, Any]:
    return read_words("offers")


@cache
def _forms(language: str) -> dict[str, _Form]:
    fill = fill_parts(_held()["parts"])
    return {
        name: _Form(
            **{**form, "sentence": Words(fill(form["sentence"])), "worth": float(form["worth"])}
        )
        for name, form in _held()[language].items()
    }


@cache
def _words(name: str) -> Words:
    return Words(_held()["words"][name])


@cache
def _verbs(kind: str) -> Mapping[str, str]:
    return dict(word.split(":") for word in _held()["verbs"][kind].split())


def make_offers(chunk: Chunk, mentions: Sequence[Mention] = ()) -> Iterator[Offer]:
    """Yield the questions that a passage may answer, by its headings, sentences and rows."""
    yield from _from_headings(chunk)
    for span in chunk.sentences:
        if _NO_TEXT.isdisjoint(block.kind for block in chunk.blocks_around(span)):
            found = _from_sentence(chunk, span, mentions)
            yield from [offer for offer in found if offer.question][:1]
    yield from _from_rows(chunk, mentions)


def _from_headings(chunk: Chunk) -> Iterator[Offer]:
    inside = ((b.label, b.span) for b in chunk.blocks if b.kind is BlockKind.SECTION)
    for heading, span in chain(((title, chunk.span) for title in chunk.headings[-1:]), inside):
        title = show_sentence(split_number(heading)[1]).rstrip(" ¶")
        asked, worth = _ask_heading(title, chunk.text)
        if shown := _shown(asked):
            yield Offer(shown, "heading", chunk.document_id, span, worth)


def _ask_heading(title: str, text: str) -> tuple[str, float]:
    """Return the question that a heading is, or that a task in it is, and its worth."""
    is_chinese, (first, _, rest) = is_wide_text(title), title.partition(" ")
    doing = _words("doing").match(simplify(title)) if is_chinese else None
    how = _words("how_to").match(title)
    if not content_terms(title) or _words("here").search(title):
        return "", 0.0
    if is_question(title) or _words("asking").match(title):
        is_whole = is_chinese or _words("with_verb").search(title)
        mark = "？" if is_chinese else "?"
        return f"{title.rstrip('？?')}{mark}" if is_whole else "", 1.0
    if how:
        return f"How do I {title[how.end() :]}?", _OF_TASK
    if (verb := _verbs("doing").get(first.lower())) and content_terms(rest):
        return f"How do I {verb} {_as_prose(rest, text)}?", _OF_TASK
    is_task = doing and len(title) > doing.end() + 1 and not _words("no_task").search(title)
    return f"如何{title}？" if is_task else "", _OF_TASK


def _from_sentence(chunk: Chunk, span: Span, mentions: Sequence[Mention]) -> Iterator[Offer]:
    """Yield the questions of all forms that a sentence has; some cannot be asked, and are ""."""
    text = show_sentence(chunk.text_at(span))
    if len(text) > _LONGEST_SENTENCE or is_question(text):
        return
    terms = (b.label for b in chunk.blocks_around(span) if b.kind is BlockKind.DEFINITION)
    named = _LABEL.match(next(terms, ""))
    for name, form in _forms("chinese" if is_wide_text(text) else "english").items():
        found = form.sentence.match(simplify(text))
        if found is None or ("{label}" in form.question and named is None):
            continue
        spans = {group: found.span(group) for group in found.re.groupindex if found[group]}
        blanks = dict.fromkeys(found.re.groupindex, "")
        blanks |= {group: text[slice(*span)] for group, span in spans.items()}
        blanks["label"] = named[0] if named else ""
        who, about = blanks.get(form.who, ""), blanks.get(form.about, "")
        of_person = _is_person(who or about, mentions) or (
            bool(who or about) and _is_told_of(chunk, span)
        )
        if (not who or of_person) and (not about or _is_subject(about, chunk)):
            asked = form.of_person if form.of_person and of_person else form.question
            shown = _shown(_fill(asked, blanks, chunk.text))
            yield Offer(shown, name, chunk.document_id, span, form.worth)


def _fill(question: str, blanks: dict[str, str], text: str) -> str:
    """Return a question with its blanks filled; "" if its subject or verb cannot be asked for."""
    what = blanks.get("what", "")
    if "{what}" in question:
        what = what if is_wide(what[:1]) else _inside(what, text)
        is_one_of_several = re.fullmatch(r"the \w+", what) is not None
        if is_one_of_several or _words("pointing").search(what) or not content_terms(what):
            return ""
    if HAN_CHARACTER.search(question) and 0 < len(what or blanks.get("start", "")) < _SHORTEST_WIDE:
        return ""
    verb, be = blanks.get("verb", "").lower(), blanks.get("be", "").lower()
    is_plural = _is_plural(what)
    tense = "was_active" if be.startswith("w") else "is_active"
    active = _verbs(tense).get(blanks.get("passive", "").lower(), "")
    base = _verbs("base").get(verb, "")
    if ("{active}" in question and not active) or ("{base}" in question and not base):
        return ""
    be = be or ("are" if is_plural else "is")
    do = "did" if verb == "cost" and not is_plural else "do" if is_plural else "does"
    given = {"what": what, "verb": verb, "be": be, "do": do, "active": active, "base": base}
    return question.format(**blanks | given)


def _inside(words: str, text: str = "") -> str:
    """Return words as they are written inside a sentence: "the crossing" for "The crossing".

    A first word loses its capital if ``text`` has it without one, and never with one elsewhere.
    """
    first, _, rest = words.partition(" ")
    is_name = rest[:1].isupper() or (len(first) > 1 and first.isupper())
    is_common = first.lower() in common_words() or f" {first.lower()} " in text
    is_kept = re.search(rf"[\w,] {re.escape(first)}\b", text) and not first.islower()
    if _ARTICLE.match(words) or (is_common and not is_name and not is_kept):
        return f"{words[:1].lower()}{words[1:]}"
    return words


def _as_prose(title: str, text: str) -> str:
    """Return words of a title without the capitals that they have in titles only."""
    known = common_words()
    words = ((word, word.lower()) for word in title.split())
    return " ".join(low if low in known or f" {low} " in text else word for word, low in words)


def _is_plural(words: str) -> bool:
    head = re.split(r" (?:of|for|in|within|to) ", words)[0].rpartition(" ")[2].lower()
    return " and " in words or (head.endswith("s") and not head.endswith(("ss", "us", "is")))


def _is_person(words: str, mentions: Sequence[Mention]) -> bool:
    for name in re.split(r" and |、|和", words):
        form = normal_form(name)
        types = {mention.type for mention in mentions if mention.normal_form == form}
        if "PERSON" not in types and (types - {""} or name_type(name, form) != "PERSON"):
            return False
    return bool(words)


def _is_told_of(chunk: Chunk, span: Span) -> bool:
    """Return True if the sentence after a place goes on with "he" or "she"."""
    following = next((other for other in chunk.sentences if other.start >= span.end), None)
    return following is not None and _PERSONAL.match(chunk.text_at(following)) is not None


def _is_subject(words: str, chunk: Chunk) -> bool:
    """Return True if words are what a passage is about, a name, or a kind of thing ("a tide")."""
    titles = " ".join((*chunk.headings[-2:], chunk.document_title))
    bare = _ARTICLE.sub("", words, count=1)
    is_kind = words[:2].lower() in ("a ", "an") and " " not in bare
    is_name = any(map(str.isupper, bare[1:])) and not HAN_CHARACTER.search(words)
    return is_kind or is_name or set(content_terms(words)) <= set(content_terms(titles))


def _from_rows(chunk: Chunk, mentions: Sequence[Mention]) -> Iterator[Offer]:
    whole = [b for b in chunk.blocks if b.kind is BlockKind.ROW and chunk.span.contains(b.span)]
    for table in chunk.blocks:
        if table.kind is BlockKind.TABLE and table.label:
            rows = [row for row in whole if table.span.contains(row.span)][:_ROWS_EACH]
            for number, row in enumerate(rows):
                names = table.label.split(" | ")
                if shown := _shown(_ask_row(chunk, row, names, number, mentions)):
                    worth = float(_held()["rows"]["worth"])
                    yield Offer(shown, "row", chunk.document_id, row.span, worth)


def _ask_row(
    chunk: Chunk, row: Block, names: Sequence[str], number: int, mentions: Sequence[Mention]
) -> str:
    """Return a question for a cell of a row, by its first cell and the name of a column; or ""."""
    cells = split_row(chunk.text_at(row.span))
    filled = [place for place in range(1, len(cells)) if cells[place]]
    key, generic = show_sentence(cells[0]), _words("generic")
    if len(cells) != len(names) or not filled or not _KEY.fullmatch(key):
        return ""
    place = filled[number % len(filled)]
    column = show_sentence(names[place])
    if (
        len(names) == 2
        and generic.fullmatch(names[0].strip())
        and _words("value").fullmatch(column)
    ):
        # A table of the properties of what the document is about.
        key, column = _inside(split_number(show_sentence(chunk.document_title))[1]), key
    is_noun = _KEY.fullmatch(column) and "_" not in column and not column.endswith("ed")
    if generic.fullmatch(column) or not is_noun or not key:
        return ""
    is_chinese = is_wide_text(f"{key}{column}")
    if not is_chinese and (column.istitle() or not any(map(str.isupper, column[1:]))):
        column = column.lower()
    is_who = _words("of_people").fullmatch(column) or _is_person(cells[place], mentions)
    kind = f"{'chinese' if is_chinese else 'english'}{'_who' if is_who else ''}"
    question: str = _held()["rows"][kind].format(key=key, column=column)
    return question


def _shown(question: str) -> str:
    """Return a question as it is shown; "" if it is too long, or not plain enough to be asked."""
    text = " ".join(question.split())
    longest, inner = _LONGEST_WIDE if is_wide_text(text) else _LONGEST, text.rstrip("?？")
    is_open = inner.count('"') % 2 or any(inner.count(a) != inner.count(b) for a, b in _PAIRS)
    if len(text) > longest or is_open or _words("markup").search(inner):
        return ""
    return f"{text[:1].upper()}{text[1:]}"


@dataclass(frozen=True, slots=True)
class Trial:
    """How many questions are tried, and how long, until enough are found to be answered."""

    most: int
    tries: int
    seconds: float


def try_offers(
    store: Store,
    ask: Ask,
    offers: Iterable[Offer],
    trial: Trial,
    *,
    asked: Sequence[str] = (),
    cited: Collection[tuple[str, Span]] = (),
    is_spread: bool = False,
) -> list[OfferedQuestion]:
    """Return the best questions that the documents answer from where they were made.

    None is like an earlier one or one of ``asked``, or answered by a ``cited`` span of a document.
    If ``is_spread``, each is from another document.
    """
    deadline = time.monotonic() + trial.seconds
    left = sorted(offers, key=lambda offer: (-offer.worth, offer.document_id, offer.span))
    known = [frozenset(content_terms(question)) for question in asked]
    taken, found, tried = list[Offer](), list[OfferedQuestion](), set[str]()

    def worth(offer: Offer) -> float:
        return offer.worth * _SAME_FORM ** sum(offer.form == other.form for other in taken)

    while left and len(taken) < trial.most and len(tried) < trial.tries:
        if tried and time.monotonic() > deadline:
            break
        best = max(left, key=worth)
        left.remove(best)
        terms = frozenset(content_terms(best.question))
        if (
            not terms
            or best.question in tried
            or any(len(terms - other) < _LEAST_DIFFERENT * len(terms) for other in known)
            or (is_spread and any(best.document_id == offer.document_id for offer in taken))
            or any(key == best.document_id and span.overlaps(best.span) for key, span in cited)
        ):
            continue
        tried.add(best.question)
        if (source := _answered(store, ask, best)) is not None:
            taken.append(best)
            found.append(OfferedQuestion(best.question, source))
            known.append(terms)
    return found


def _answered(store: Store, ask: Ask, offer: Offer) -> Citation | None:
    """Return the source of the answer to a question, if it is where the question was made."""
    answer = ask(AskRequest(offer.question, use_llm=False))
    if not answer.answered or not answer.citations or (answer.confidence or 0) < LEAST_CONFIDENCE:
        return None
    first = answer.citations[0]
    chunk = store.documents.chunks({first.chunk_id}).get(first.chunk_id)
    is_there = chunk is not None and chunk.document_id == offer.document_id
    is_same = first.span.overlaps(offer.span) or offer.form == _DEFINITION
    return first if is_there and is_same else None


def find_related(
    store: Store,
    ask: Ask,
    question: str,
    cited: Sequence[tuple[str, Span]],
    *,
    most: int,
    seconds: float,
) -> list[OfferedQuestion]:
    """Return questions near the places that an answer cites; each was tried.

    ``cited`` are the id of a chunk and the cited span of its document. The questions are made from
    these chunks, from those around them, and from those about the same entities.
    """
    chunks = store.documents.chunks({key for key, _ in cited})
    near = _chunks_near(store, chunks)
    mentions = store.graph.mentions(near)
    about = set(content_terms(" ".join((question, *(c.searched_text for c in chunks.values())))))

    def weigh(offer: Offer, key: str) -> Offer:
        asked = set(content_terms(offer.question))
        shared = len(asked & about) / max(len(asked), 1)
        own = 1.0 if key in chunks else _FURTHER
        return offer._replace(worth=offer.worth * own * (1 - _NEARNESS + _NEARNESS * shared))

    offers = [
        weigh(offer, key)
        for key, chunk in near.items()
        for offer in make_offers(chunk, mentions.get(key, ()))
    ]
    told = [(chunks[key].document_id, span) for key, span in cited if key in chunks]
    trial = Trial(most, _TRIES_EACH * most, seconds)
    return try_offers(store, ask, offers, trial, asked=[question], cited=told)


def _chunks_near(store: Store, cited: Mapping[str, Chunk]) -> dict[str, Chunk]:
    """Return the cited passages, those around them, and those about their entities."""
    near = dict(cited)
    held = store.documents.chunk_ids_of({chunk.document_id for chunk in cited.values()})
    around: list[str] = []
    for key, chunk in cited.items():
        ids = held.get(chunk.document_id, [])
        place = ids.index(key) if key in ids else 0
        around += ids[max(0, place - _NEAR) : place + _NEAR + 1]
    mentions = store.graph.mentions(cited)
    typed = [m for found in mentions.values() for m in found if m.type and m.about > 0]
    typed.sort(key=lambda mention: -mention.about)
    entities = list(dict.fromkeys(mention.entity_id for mention in typed))[:_MOST_CHUNKS]
    about = store.graph.about(entities, fan=_OF_ENTITY, minimum=0.0)
    around += [item.id for key in entities for item in about.get(key, ())]
    further = [key for key in dict.fromkeys(around) if key not in near][:_MOST_CHUNKS]
    found = store.documents.chunks(further)
    near |= {key: found[key] for key in further if key in found and not found[key].is_parent}
    return near
