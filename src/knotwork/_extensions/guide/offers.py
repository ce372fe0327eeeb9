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
from typing import TYPE_CHECKING, NamedTuple

from knotwork._questions.languages import Words, read_words
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
_MARKUP = re.compile(r"[\[\]{}<>|=\\*#`~^]|://|\s[-–—]\s|[:;：；]\S*\s")
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_BARE = re.compile(r"(?:the )?(?:\w+)", re.IGNORECASE)
_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|above|below|following"
    r"|previous|next|other|another|same|such|you|your|we|our|i|my)\b|[这那该此它他她其]|上述|以下|前者|后者",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"\b(?:this|these|that|those|it|its|here|above|below|following)\b", re.IGNORECASE
)
_WITH_VERB = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|could|should|would|will|may|must|has|have|had)\b"
    r"|^wh(?:o|at|ich \w+) [a-z]+(?:s|ed)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"(?:He|She|His|Her)\b|[他她](?!们)")
_HOW_TO = re.compile(r"how to (?P<rest>[a-z].+)", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_ASKING_ZH = ("如何", "怎样", "怎么", "为什么", "什么是")
_LISTED_ZH = re.compile(r"[、与和及]|文件$|选项$|工具$|方法$|步骤$|管理员|者$")
"""Matches Chinese headings that begin with a verb, but name no task."""
_KEY = re.compile(r"[^\W\d_][\w’'., -]*")
_VALUE = re.compile(r"values?|值|数值|取值|内容", re.IGNORECASE)
_LABEL = re.compile(r"[\w.-]{3,40}")
_NO_TEXT = frozenset(
    {BlockKind.CODE, BlockKind.FIGURE, BlockKind.TABLE, BlockKind.ROW, BlockKind.BOX}
)


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
    name: str
    sentence: Words
    question: str
    worth: float
    who: str
    about: str
    of_person: str


class _Forms(NamedTuple):
    english: tuple[_Form, ...]
    chinese: tuple[_Form, ...]
    doing: Mapping[str, str]
    doing_zh: re.Pattern[str]
    is_active: Mapping[str, str]
    was_active: Mapping[str, str]
    base: Mapping[str, str]
    rows: Mapping[str, str]
    generic: re.Pattern[str]
    of_people: re.Pattern[str]
    row_worth: float


_PART = re.compile("«([A-Z_]+)»")


@cache
def _forms() -> _Forms:
    held = read_words("offers")
    parts: dict[str, str] = {}

    def fill(form: str) -> str:
        return _PART.sub(lambda part: parts[part[1]], form)

    for key, form in held["parts"].items():
        parts[key] = fill(form)

    def read(language: str) -> tuple[_Form, ...]:
        return tuple(
            _Form(
                name,
                Words(fill(form["sentence"])),
                form["question"],
                float(form["worth"]),
                form.get("who", ""),
                form.get("about", ""),
                form.get("of_person", ""),
            )
            for name, form in held[language].items()
        )

    def pairs(key: str) -> dict[str, str]:
        return dict(word.split(":") for word in held["forms"][key].split())

    return _Forms(
        read("english"),
        read("chinese"),
        pairs("doing"),
        re.compile(f"(?:{held['forms']['chinese']})"),
        pairs("is_active"),
        pairs("was_active"),
        pairs("base"),
        held["rows"],
        re.compile(f"(?:{held['rows']['generic']})", re.IGNORECASE),
        re.compile(f"(?:{held['rows']['of_people']})", re.IGNORECASE),
        float(held["rows"]["worth"]),
    )


def make_offers(chunk: Chunk, mentions: Sequence[Mention] = ()) -> Iterator[Offer]:
    """Yield the questions that a passage may answer, by its headings, sentences and rows."""
    yield from _from_headings(chunk)
    for span in chunk.sentences:
        kinds = {block.kind for block in chunk.blocks_around(span)}
        if not kinds & _NO_TEXT:
            yield from _from_sentence(chunk, span, mentions)
    yield from _from_rows(chunk, mentions)


def _from_headings(chunk: Chunk) -> Iterator[Offer]:
    found = [match for match in _HEADING.finditer(chunk.text) if not _is_code(chunk, match)]
    ends = [*(match.start() for match in found[1:]), len(chunk.text)]
    for match, end in zip(found, ends, strict=False):
        title = show_sentence(split_number(match[1])[1]).rstrip(" ¶")
        asked, worth = _ask_heading(title, chunk.text)
        if asked and (shown := _shown(asked)):
            start = chunk.span.start
            span = Span(start + match.end(), start + end)
            yield Offer(shown, "heading", chunk.document_id, span, worth)


def _is_code(chunk: Chunk, match: re.Match[str]) -> bool:
    start = chunk.span.start
    around = chunk.blocks_around(Span(start + match.start(), start + match.end()))
    return any(block.kind is BlockKind.CODE for block in around)


def _ask_heading(title: str, text: str) -> tuple[str, float]:
    """Return the question that a heading is, or that a task in it is, and its worth."""
    is_chinese, asked, worth = is_wide_text(title), "", _OF_TASK
    how, (first, _, rest) = _HOW_TO.fullmatch(title), title.partition(" ")
    doing = _forms().doing_zh.match(simplify(title)) if is_chinese else None
    if not content_terms(title) or _HERE.search(title):
        pass
    elif is_question(title) or title.startswith(_ASKING_ZH):
        worth = 1.0
        is_whole = is_chinese or _WITH_VERB.search(title)
        asked = f"{title.rstrip('？?')}{'？' if is_chinese else '?'}" if is_whole else ""
    elif how:
        asked = f"How do I {how['rest']}?"
    elif (verb := _forms().doing.get(first.lower())) and content_terms(rest):
        asked = f"How do I {verb} {_as_prose(rest, text)}?"
    elif doing and len(title) > doing.end() + 1 and not _LISTED_ZH.search(title):
        asked = f"如何{title}？"
    return asked, worth


def _from_sentence(chunk: Chunk, span: Span, mentions: Sequence[Mention]) -> Iterator[Offer]:
    text = show_sentence(chunk.text_at(span))
    if len(text) > _LONGEST_SENTENCE or is_question(text):
        return
    is_chinese = is_wide_text(text)
    label = next((b.label for b in chunk.blocks_around(span) if b.kind is BlockKind.DEFINITION), "")
    named = _LABEL.match(label)
    simple = simplify(text)
    for form in _forms().chinese if is_chinese else _forms().english:
        found = form.sentence.match(simple)
        if found is None or ("{label}" in form.question and named is None):
            continue
        blanks = {
            name: text[slice(*found.span(name))] if found.span(name)[0] >= 0 else ""
            for name in found.re.groupindex
        }
        blanks["label"] = named[0] if named else ""
        who, about = blanks.get(form.who, ""), blanks.get(form.about, "")
        is_of_person = bool(who or about) and (
            _is_person(who or about, mentions) or _is_told_of(chunk, span)
        )
        if who and not is_of_person:
            continue
        if about and not _is_subject(about, chunk):
            continue
        asked = form.of_person if form.of_person and is_of_person else form.question
        question = _fill(asked, blanks, chunk.text)
        if question and (shown := _shown(question)):
            yield Offer(shown, form.name, chunk.document_id, span, form.worth)
            return


def _fill(question: str, blanks: dict[str, str], text: str) -> str:
    """Return a question with its blanks filled; "" if its subject or verb cannot be asked for."""
    what = blanks.get("what", "")
    if "{what}" in question:
        if not is_wide(what[:1]):
            what = _inside(what, text)
            if _BARE.fullmatch(what) and what[:4].lower() == "the ":
                return ""  # of several, the question does not say which
        if _POINTING.search(what) or not content_terms(what):
            return ""
    if (
        HAN_CHARACTER.search(question)
        and 0 < len(what or blanks.get("start", what)) < _SHORTEST_WIDE
    ):
        return ""
    verb, be = blanks.get("verb", "").lower(), blanks.get("be", "").lower()
    is_plural = _is_plural(what)
    forms = _forms()
    passive = blanks.get("passive", "").lower()
    active = (forms.was_active if be.startswith("w") else forms.is_active).get(passive, "")
    base = forms.base.get(verb, "")
    if ("{active}" in question and not active) or ("{base}" in question and not base):
        return ""
    return question.format(
        **{
            **blanks,
            "what": what,
            "verb": verb,
            "be": be or ("are" if is_plural else "is"),
            "do": "did" if verb == "cost" and not is_plural else "do" if is_plural else "does",
            "active": active,
            "base": base,
        }
    )


def _inside(words: str, text: str = "") -> str:
    """Return words as they are written inside a sentence: "the crossing" for "The crossing".

    A first word loses its capital if ``text`` has it without one, and never with one elsewhere.
    """
    first, _, rest = words.partition(" ")
    is_name = rest[:1].isupper() or (len(first) > 1 and first.isupper())
    is_common = first.lower() in common_words() or f" {first.lower()} " in text
    if re.search(rf"[\w,] {re.escape(first)}\b", text) and not first.islower():
        is_common = False
    if _ARTICLE.match(words) or (is_common and not is_name):
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
    if set(content_terms(words)) <= set(content_terms(titles)):
        return True
    is_kind = words[:2].lower() in ("a ", "an") and " " not in bare
    is_name = any(map(str.isupper, bare[1:])) and not HAN_CHARACTER.search(words)
    return is_kind or is_name


def _from_rows(chunk: Chunk, mentions: Sequence[Mention]) -> Iterator[Offer]:
    tables = [block for block in chunk.blocks if block.kind is BlockKind.TABLE and block.label]
    for table in tables:
        names = table.label.split(" | ")
        rows = [
            block
            for block in chunk.blocks
            if block.kind is BlockKind.ROW
            and table.span.contains(block.span)
            and chunk.span.contains(block.span)
        ]
        for number, row in enumerate(rows[:3]):
            yield from _from_row(chunk, row, names, number, mentions)


def _from_row(
    chunk: Chunk, row: Block, names: Sequence[str], number: int, mentions: Sequence[Mention]
) -> Iterator[Offer]:
    cells, forms = split_row(chunk.text_at(row.span)), _forms()
    if len(cells) != len(names) or len(cells) < 2:
        return
    key, rest = show_sentence(cells[0]), [n for n in range(1, len(cells)) if cells[n]]
    if not rest or not _KEY.fullmatch(key) or len(key) > 40:
        return
    is_of_properties = (
        len(names) == 2
        and forms.generic.fullmatch(names[0].strip()) is not None
        and _VALUE.fullmatch(names[1].strip()) is not None
    )
    place = rest[number % len(rest)]
    column = show_sentence(names[place])
    if is_of_properties:
        title = split_number(show_sentence(chunk.document_title))[1]
        key, column = _inside(title), key
    is_noun = _KEY.fullmatch(column) and "_" not in column and not column.endswith("ed")
    if forms.generic.fullmatch(column) or not is_noun or not key:
        return
    is_chinese = is_wide_text(f"{key}{column}")
    if not is_chinese:
        is_plain = column.istitle() or not any(map(str.isupper, column[1:]))
        column = column.lower() if is_plain else column
    is_who = forms.of_people.fullmatch(column) or _is_person(cells[place], mentions)
    who = "_who" if is_who else ""
    form = forms.rows[f"{'chinese' if is_chinese else 'english'}{who}"]
    question = form.format(key=key, column=column)
    if shown := _shown(question):
        yield Offer(shown, "row", chunk.document_id, row.span, forms.row_worth)


def _shown(question: str) -> str:
    """Return a question as it is shown; "" if it is too long, or not plain enough to be asked."""
    text = " ".join(question.split())
    longest = _LONGEST_WIDE if is_wide_text(text) else _LONGEST
    inner = text.rstrip("?？")
    if len(text) > longest or _MARKUP.search(inner) or _is_unpaired(inner):
        return ""
    return f"{text[:1].upper()}{text[1:]}"


def _is_unpaired(text: str) -> bool:
    pairs = ("()", "（）", "“”", "《》", "「」")
    return any(text.count(pair[0]) != text.count(pair[1]) for pair in pairs) or (
        text.count('"') % 2 == 1
    )


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
    taken, used = list[OfferedQuestion](), dict[str, int]()
    documents, tried = set[str](), set[str]()
    while left and len(taken) < trial.most and len(tried) < trial.tries:
        if tried and time.monotonic() > deadline:
            break
        best = max(left, key=lambda offer: offer.worth * _SAME_FORM ** used.get(offer.form, 0))
        left.remove(best)
        terms = frozenset(content_terms(best.question))
        is_known = any(len(terms - other) < _LEAST_DIFFERENT * len(terms) for other in known)
        if (
            is_known
            or not terms
            or best.question in tried
            or (is_spread and best.document_id in documents)
        ):
            continue
        if any(key == best.document_id and span.overlaps(best.span) for key, span in cited):
            continue
        tried.add(best.question)
        if (source := _answered(store, ask, best)) is not None:
            taken.append(OfferedQuestion(best.question, source))
            used[best.form] = used.get(best.form, 0) + 1
            documents.add(best.document_id)
            known.append(terms)
    return taken


def _answered(store: Store, ask: Ask, offer: Offer) -> Citation | None:
    """Return the source of the answer to a question, if it is where the question was made."""
    answer = ask(AskRequest(offer.question, use_llm=False))
    if not answer.answered or not answer.citations or (answer.confidence or 0) < LEAST_CONFIDENCE:
        return None
    first = answer.citations[0]
    chunks = store.documents.chunks({first.chunk_id})
    is_there = first.chunk_id in chunks and chunks[first.chunk_id].document_id == offer.document_id
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
