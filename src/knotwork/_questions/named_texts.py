"""Find the documents that a question names, and what it asks of each of them.

"Documents A, B and C", "a.md and b.md" and 《甲》和《乙》 name documents by form. "What do the
lease and the rules say about pets?" does only if the index has documents of these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._questions.languages import CHINESE, Language
from knotwork._questions.reading import QuestionReading
from knotwork._text.languages import simplify
from knotwork._text.terms import content_terms

_FORMS = ("this document", "What are the views of {}?", "Summarize {}.")
_CHINESE_FORMS = ("这份文档", "{}的观点是什么？", "总结{}")
"""The name of a document within itself, and the questions for its views and for a summary."""
MOST_TEXTS = 8
"""A question that names more documents is answered as a whole."""


@dataclass(frozen=True, slots=True)
class TextQuestion:
    """What is asked of one document or section: its ``name``, "" for none, and the ``noun`` before.

    ``text`` has "this document" in place of the name; ``bare`` has neither, for a search in it.
    """

    name: str
    noun: str
    text: str
    bare: str
    section: str = ""
    """The name of a section with its noun, as "chapter 2"; "" for a document."""


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """The questions for the documents or sections that a question names, in order.

    ``is_sure`` if it says that they are documents, ``is_free`` if only the index decides.
    """

    questions: tuple[TextQuestion, ...]
    is_sure: bool = False
    is_free: bool = False


class _Named(NamedTuple):
    """Names joined in a text, each with the noun before it, and their place."""

    items: tuple[tuple[str, str], ...]
    start: int
    end: int
    is_sure: bool = False
    is_quoted: bool = False
    is_section: bool = False

    @property
    def is_stated(self) -> bool:
        """Whether their form is that of documents; a title or section alone may be a topic."""
        return len(self.items) > 1 or not (self.is_quoted or self.is_section)


def find_named_texts(question: QuestionReading) -> NamedTexts | None:
    """Return what a question asks of the documents that it names; None if it names none."""
    text, language = simplify(question.plain), question.own_language
    runs = list(_find_runs(text, language))
    is_sure = any(run.is_sure for run in runs)
    sections = [run for run in runs if run.is_section and len(run.items) > 1]
    if len(runs) > 1 and len(sections) == 1:  # of a document, which stays in the questions
        return _make(_ask(text, sections, language))
    if len(runs) > 1:
        clauses = question.division.parts if question.division else ()
        found = [(simplify(part.text), _find_runs(part.text, language)) for part in clauses]
        held = [(clause, list(inside)) for clause, inside in found]
        if any(len(inside) > 1 for _, inside in held):
            return None
        return _make([q for each in held for q in _ask(*each, language)], is_sure=is_sure)
    free = next(filter(None, (form.search(text) for form in language.lists)), None)
    if runs and not (free and len(runs[0].items) == 1):
        return _make(_ask(text, runs, language), is_sure=is_sure) if runs[0].is_stated else None
    if free is None:
        return None
    start, end = free.span("list")
    joints = language.division["text_joint"].form.finditer(text, start, end)
    places = [start, *(place for joint in joints for place in joint.span()), end]
    named = (text[slice(*pair)] for pair in zip(places[::2], places[1::2], strict=True))
    names = [language.division["text_determiner"].sub(name).strip() for name in named]
    items = tuple(("", name) for name in names if name)
    asked = _ask(text, [_Named(items, start, end)], language)
    return _make(asked, is_free=True) if len(asked) > 1 else None


def _make(
    asked: Sequence[TextQuestion], *, is_sure: bool = False, is_free: bool = False
) -> NamedTexts | None:
    fits = 0 < len(asked) <= MOST_TEXTS
    return NamedTexts(tuple(asked), is_sure, is_free) if fits else None


def _find_runs(text: str, language: Language) -> Iterator[_Named]:
    """Yield the names of documents by form; those that are only joined belong together."""
    words, at = language.division, 0
    while first := words["text_name"].form.search(text, at):
        noun = (first["noun"] or "").strip()
        items, end = [(noun, _name_of(first))], first.end()
        while joint := words["text_joint"].form.match(text, end):
            following = words["text_name"].form.match(text, joint.end())
            following = following or words["text_short"].form.match(text, joint.end())
            if following is None or ("short" in following.groupdict() and not noun):
                break
            items.append((following.groupdict().get("noun") or noun, _name_of(following)))
            end = following.end()
        at, start = end, first.start("file") if first["file"] else first.start()
        is_sure = bool(noun) and words["text_sure"].match(noun) is not None
        is_section = words["text_section"].fullmatch(noun or items[0][1]) is not None
        yield _Named(tuple(items), start, end, is_sure, bool(first["quoted"]), is_section)


def _name_of(found: re.Match[str]) -> str:
    named = found.groupdict()
    return next(named[n] for n in ("short", "name", "file", "quoted") if named.get(n))


def _ask(text: str, runs: Sequence[_Named], language: Language) -> list[TextQuestion]:
    """Return the questions of a clause for each document that it names."""
    if not runs:
        return [TextQuestion("", "", text, text)]
    words, run = language.division, runs[0]
    before = words["text_determiner"].sub(words["text_compared"].sub(text[: run.start]))
    after = words["text_each"].sub(text[run.end :])
    this, views, summary = _CHINESE_FORMS if language is CHINESE else _FORMS
    gap = "" if language is CHINESE else " "
    bare = f"{words['text_place'].sub(before)}{gap}{after.lstrip()}"
    bare = " ".join(words["text_said"].form.sub(" ", bare).split())
    is_bare = not content_terms(bare)
    whole = f"{before}\0{after}".strip()
    if is_bare:
        whole = (views if words["text_views"].search(text) else summary).format("\0")
    asked = []
    for noun, name in run.items:
        section = ""
        if run.is_section:
            section = f"{noun.removesuffix('s')} {name}".strip()
        own = whole.replace("\0", section or this)
        asked.append(TextQuestion(name, noun, own, own if is_bare else bare, section))
    return asked
