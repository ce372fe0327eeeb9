"""Rewrite a follow-up question so that it can be understood without the earlier turns.

A model rewrites it if there is one. Otherwise rules replace a pronoun by the name it refers to, or
put another name into the last question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from knotwork._inference.chat import ChatModel, ChatReply, complete_checked, require_whole
from knotwork._inference.prompt_material import escape_passage, restore
from knotwork._questions.reading import reading_of
from knotwork._retrieval.question import read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store
from knotwork._synthesis.grounding.statement_check import denials_of
from knotwork._synthesis.grounding.texts import EMPTY_ZH, read_text
from knotwork._synthesis.messages import make_request
from knotwork._text.languages import HAN_CHARACTER, segment, simplify
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ModelError, Unparsable

MOST_TURNS = 6
LONGEST_FOLLOW_UP = 400
"""A question of more characters is taken to be complete by itself."""

_OPENING = re.compile(
    r"^\s*(?:那么?[,，]?|(?:(?:and|but|then)\b[\s,]*)?(?:(?:what|how) about\b\s*)?)", re.IGNORECASE
)
_ASKING = (
    "who|whom|whose|what|when|where|which|why|how|is|are|am|was|were|do|does|did|can|could|has|have"
    "|had|will|would|should|shall|may|might|must"
)
_FULL = re.compile(rf"^(?:{_ASKING})\b|[谁哪几吗]|什么|多少|何|怎", re.IGNORECASE)
_WITHOUT_SUBJECT = re.compile("^(?:什么时候|何时|哪一?年|几月|在哪|有多|是谁|是什么|叫什么)")
_ENDING = re.compile(r"呢?[?？。.\s]*$")
_FEW_WORDS = 6
_FEW_CHARACTERS = 12
_BARE_WORDS = 2
_BARE_CHARACTERS = 4


class RewrittenQuestion(NamedTuple):
    """A question that stands alone; ``note`` explains why a model did not rewrite it."""

    text: str
    note: str = ""


def rewrite_follow_up(
    question: str,
    turns: Sequence[ConversationTurn],
    names: NameReader,
    *,
    model: ChatModel | None = None,
) -> RewrittenQuestion:
    """Return a question that can be understood without the earlier turns.

    A question that is no follow-up is returned unchanged, without a model call. A model rewrites
    any other, if there is one. Without it, or if it fails, rules replace a pronoun by its name, or
    the name in the last question by a new one, or put the last question, or its name, before a few
    words that continue it.
    """
    if not turns or not is_follow_up(question, names):
        return RewrittenQuestion(question)
    asked, question, note = question, " ".join(question.split()), ""
    if model is not None:
        try:
            return RewrittenQuestion(rewrite_with_model(question, turns, model))
        except ModelError as error:
            note = f"The follow-up was rewritten by rules: {error.message}"
    if _open_pronoun(question, names):
        return RewrittenQuestion(resolve_pronoun(question, turns, names), note)
    last = next((turn for turn in reversed(turns) if turn.question), None)
    return RewrittenQuestion(_apply_to_last(question, last, names) if last else asked, note)


def is_follow_up(question: str, names: NameReader) -> bool:
    """Return True if a question depends on earlier turns."""
    if len(question) > LONGEST_FOLLOW_UP:
        return False
    question = " ".join(question.split())
    return _open_pronoun(question, names) is not None or _continues(question, names)


def read_turns(turns: Sequence[tuple[str, str]], names: NameReader) -> tuple[ConversationTurn, ...]:
    """Return the last `MOST_TURNS` turns of a conversation, given as questions with their answers.

    Follow-ups among them are rewritten by rules.
    """
    read: list[ConversationTurn] = []
    for question, answer in turns[-MOST_TURNS:]:
        read.append(read_turn(rewrite_follow_up(question, read, names).text, answer, names))
    return tuple(read)


def resolve_pronoun(text: str, turns: Sequence[ConversationTurn], names: NameReader) -> str:
    """Return a text with its first pronoun replaced by the name it refers to, if one fits."""
    pronoun = _open_pronoun(text, names)
    name = find_antecedent(pronoun.kind, turns) if pronoun else ""
    if pronoun is None or not name:
        return text
    shown = f"{name}'s" if pronoun.possessive else name
    return f"{text[: pronoun.start]}{shown}{text[pronoun.end :]}"


def _open_pronoun(question: str, names: NameReader) -> Pronoun | None:
    """Return the first pronoun of a question, unless a name precedes it in the question."""
    pronoun = find_pronoun(question)
    if pronoun is None:
        return None
    named = (name for name in names(question) if name.is_proper)
    return None if any(name.start < pronoun.start for name in named) else pronoun


def _continues(question: str, names: NameReader) -> bool:
    """Return True if a question is a few words that continue the last question."""
    opening, rest = _split(question)
    if not _has_few(question, _FEW_WORDS, _FEW_CHARACTERS):
        return False
    if _WITHOUT_SUBJECT.match(rest):
        return not names(rest)
    if _FULL.search(rest):
        return _has_few(rest, _BARE_WORDS, _BARE_CHARACTERS) or (opening and not names(rest))
    return opening or question.rstrip("?？ ").endswith("呢")


def _split(question: str) -> tuple[bool, str]:
    """Return whether a question opens with "and", "what about" or the like, and its rest."""
    opening = _OPENING.match(question)
    assert opening is not None, "the pattern also matches the empty string"
    return bool(opening[0].strip()), _ENDING.sub("", question[opening.end() :])


def _has_few(text: str, words: int, characters: int) -> bool:
    if reading_of(text).language == "zh":
        return len(text) <= characters
    return len(text.split()) <= words


def _apply_to_last(question: str, last: ConversationTurn, names: NameReader) -> str:
    """Return the last question about another name, or followed by these few words."""
    _, rest = _split(question)
    colon, mark = ("：", "？") if reading_of(question).language == "zh" else (": ", "?")
    if _FULL.search(rest) and not _has_few(rest, _BARE_WORDS, _BARE_CHARACTERS):
        return f"{last.names[0].name}{colon}{rest}{mark}" if last.names else question
    named = names(f" {rest}")  # after a space, so that a capital does not open a sentence
    if rest and len(named) == 1 and len(named[0].name) >= len(rest) - len("the "):
        same = [name for name in last.names if name.type == named[0].type]
        for old in (same or last.names)[:1]:
            return last.question.replace(old.name, named[0].name)
    asked = _ENDING.sub("", last.question)
    return f"{asked}{colon}{rest}{mark}" if asked and rest else question


QUESTION_CHARACTERS = 600
ANSWER_CHARACTERS = 600
ANSWER_NAMES = 4
_CITATION_MARK = re.compile(r"\s*\[M?\d+\](?:\([^)]*\))?")


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A question that stands alone, its answer, and the names in each.

    ``answer_names`` are those that the question does not have. A statement of the user is the
    answer to an empty question.
    """

    question: str
    answer: str = ""
    names: tuple[SpokenName, ...] = ()
    answer_names: tuple[SpokenName, ...] = ()


def read_turn(question: str, answer: str, names: NameReader) -> ConversationTurn:
    """Return a turn with its names; only the first characters of long texts are read."""
    question = " ".join(question.split())[:QUESTION_CHARACTERS]
    said = _CITATION_MARK.sub("", " ".join(answer.split())[:ANSWER_CHARACTERS])
    asked = tuple(names(question))
    forms = {normal_form(name.name) for name in asked}
    new = [name for name in names(said) if normal_form(name.name) not in forms] if said else []
    return ConversationTurn(question, said, asked, tuple(new[:ANSWER_NAMES]))


_CAPITAL_WORD = r"(?:[A-Z]\.(?=\s)|[A-Z](?:[\w'’-]|\.(?=\w))*)"
_CAPITALS = re.compile(
    rf"{_CAPITAL_WORD}(?:\s+(?:(?:of|the|de|van|von|for)\s+)*(?:{_CAPITAL_WORD}|[0-9][\w'’-]*))*|《[^》]+》"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…]|\n)\W*$")
_LOOK_BACK = 20
_POSSESSIVE = re.compile(r"['’]s?$")
_NUMBER_MARK = re.compile(r"\[M?\d+\]")
_OPENING_WORDS = (
    "what who whom whose when where which why how is are was were do does did can could will would"
    " and but or in on at by for from the a an it its he she they each since this that these those"
    " there tell show list find give explain describe compare summarize then so yes no thanks"
)
_NO_NAMES = frozenset(_OPENING_WORDS.split())
_NOT_SPOKEN_OF = frozenset({"DATE", "NUMBER"})


class SpokenName(NamedTuple):
    """A name as written, the type of its entity ("" if unknown), and its offset in the text."""

    name: str
    type: str = ""
    start: int = 0

    @property
    def is_proper(self) -> bool:
        """Whether it has a capital letter, or is in a script without capitals."""
        return any(c.isupper() or not c.isascii() for c in self.name)


NameReader = Callable[[str], list[SpokenName]]
"""Returns the names in a text in order, each once."""


def capital_names(text: str) -> list[SpokenName]:
    """Return the names in a text by capitals or 《》; no single first word of a sentence."""
    bare = _NUMBER_MARK.sub(lambda match: " " * len(match[0]), text)
    found: dict[str, SpokenName] = {}
    for match in _CAPITALS.finditer(bare):
        start, words = match.start(), match[0].split()
        while words and words[0].lower() in _NO_NAMES:
            start += len(words[0]) + 1
            words = words[1:]
        name = _POSSESSIVE.sub("", " ".join(words))
        before = bare[max(start - _LOOK_BACK, 0) : start]
        is_word = len(words) == 1 and _SENTENCE_START.search(before)
        if name and (name[0] == "《" or not is_word):
            found.setdefault(name, SpokenName(name, "WORK" if name[0] == "《" else "", start))
    return list(found.values())


def index_names(store: Store) -> NameReader:
    """Return a reader of names that finds entities of an index, with types, and capitals."""

    def read(text: str) -> list[SpokenName]:
        question = read_question(text, store=store)
        known = [
            SpokenName(_POSSESSIVE.sub("", text[start:end]), link.entity.type, start)
            for link in question.links
            for start, end in (link.span,)
            if link.trust == 1.0
        ]
        # A name that no passage is about may be an everyday word.
        known_from = DEFAULT_WEIGHTS.link.known
        about = (link for link in question.links if link.about)
        pages = {link.span.start for link in about if link.about[0].score >= known_from}
        known = [name for name in known if name.is_proper or name.start in pages]
        others = capital_names(text)
        kept = [
            name
            for name in known
            if not any(
                len(other.name) > len(name.name) and _overlap(other, name) for other in others
            )
        ]
        kept += [other for other in others if not any(_overlap(other, name) for name in kept)]
        found: dict[str, SpokenName] = {}
        for name in sorted(kept, key=lambda name: name.start):
            if name.type not in _NOT_SPOKEN_OF:
                found.setdefault(name.name, name)
        return list(found.values())

    return read


def _overlap(one: SpokenName, other: SpokenName) -> bool:
    return one.start < other.start + len(other.name) and other.start < one.start + len(one.name)


class Pronoun(NamedTuple):
    """A pronoun in a question: its offsets, whether it is possessive, and what it may refer to.

    That is a "person", a "thing", a "place" or "any" of these.
    """

    kind: str
    start: int
    end: int
    possessive: bool


_ENGLISH_PRONOUN = re.compile(
    r"\b(?:(?P<person_own>his|her(?=\s+(?!(?:in|on|at|by|from|to|when|before|after|and|or|with|for"
    r"|as|of|is|was|did)\b)[a-z])(?!\s*$))|(?P<person>he|she|him|hers?)"
    r"|(?P<thing_own>its)|(?P<thing>it|this one|that one)|(?P<any>they|them)|(?P<any_own>their)"
    r"|(?P<place>there(?=\s*(?:[?.,;]|$|in\b|when\b|now\b|then\b|before\b|after\b)))"
    r")\b",
    re.IGNORECASE,
)
_OWN = "_own"
"""The end of the name of a group of possessive pronouns; the names begin with their kind."""
_EMPTY_IT = re.compile(
    r"\b(?:does|did|will|would|can) it take\b|\b(?:is|was) it (?:true|possible|necessary|allowed"
    r"|legal|required|ok|okay)\b|\bwhat time is it\b|\bit (?:seems|appears) that\b",
    re.IGNORECASE,
)
_CHINESE_PRONOUN = re.compile(
    r"(?P<person>(?<!其)[他她](?!们|人)|(?<!其)[他她]们)|(?P<thing>它们?|这个(?=[?？]?$))"
    r"|(?P<place>那里|那儿)"
)
_ASKS_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪位", re.IGNORECASE)
_ASKS_WHAT = re.compile(r"\b(?:what|which)\b|什么|哪[个家座条]", re.IGNORECASE)
_ASKS_HOW_MUCH = re.compile(
    r"\b(?:price|cost|depth|height|length|width|size|weight|number|amount|date|day|year|time|age"
    r"|population|colou?r|speed|temperature|rate|share|reason|purpose|name)s?\b"
    r"|价格|费用|深度|高度|长度|重量|数量|日期|时间|年龄|人口|颜色|速度|温度|原因|目的",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"^\W*(?i:who|what)(?:['’]s| is| was| are| were) (?:(?:the|an?) )?[A-Z《][^?]*[?]?\W*$"
    r"|是谁[?？]?\s*$|是什么[?？]?\s*$"
)
_SHORT_ANSWER_WORDS = 20
_NO_PERSONS = frozenset(
    {"PLACE", "ORGANIZATION", "DATE", "NUMBER", "WORK", "IDENTIFIER", "EVENT", "PRODUCT"}
)


def find_pronoun(question: str) -> Pronoun | None:
    """Return the first pronoun that may refer to an earlier turn, if there is one."""
    if _EMPTY_IT.search(question):
        return None
    match = _CHINESE_PRONOUN.search(question) or _ENGLISH_PRONOUN.search(question)
    if match is None:
        return None
    group = str(match.lastgroup)
    return Pronoun(group.removesuffix(_OWN), *match.span(), possessive=group.endswith(_OWN))


def find_antecedent(kind: str, turns: Sequence[ConversationTurn]) -> str:
    """Return the name that a pronoun of this kind refers to; "" if none fits.

    The latest turns are tried first. Names of the answer precede those of its question if the
    question asked for them: for a person or a place, or with a short answer that has one name.
    """
    for turn in reversed(turns):
        is_asked = kind == "place" or _asks_for(kind, turn)
        both = (turn.answer_names, turn.names) if is_asked else (turn.names, turn.answer_names)
        fitting = [name for name in chain(*both) if _may_be(kind, name)]
        fitting.sort(key=lambda name: name.type != kind.upper())
        for name in fitting:
            return name.name
    return ""


def _asks_for(kind: str, turn: ConversationTurn) -> bool:
    """Return True if a turn asks for what its answer names, so that a pronoun may refer to that."""
    question = turn.question
    if _DEFINES.search(question):
        return False
    if kind == "person" and _ASKS_WHO.search(question):
        return True
    is_one = len(turn.answer_names) == 1 and len(turn.answer.split()) <= _SHORT_ANSWER_WORDS
    return is_one and bool(_ASKS_WHAT.search(question) and not _ASKS_HOW_MUCH.search(question))


def _may_be(kind: str, name: SpokenName) -> bool:
    if kind == "place":
        return name.type == "PLACE"
    if kind == "person":
        is_word = name.name.isascii() and name.name.islower() and " " not in name.name
        return name.type not in _NO_PERSONS and (name.type == "PERSON" or not is_word)
    return kind == "any" or name.type != "PERSON"


UNDERSTAND_OUTPUT_TOKENS = 120
SHOWN_TURNS = 3
SHOWN_CHARACTERS = 300
LONGEST_REWRITTEN = 500


def rewrite_with_model(question: str, turns: Sequence[ConversationTurn], model: ChatModel) -> str:
    """Ask a model for the question in a form that can be understood without the earlier turns.

    A reply that asks for something else is rejected (see `check_rewritten`). Raises ModelError as
    `complete_checked`.
    """
    shown = turns[-SHOWN_TURNS:]
    before = "\n".join(f"- {turn.question}\n  {turn.answer[:SHOWN_CHARACTERS]}" for turn in shown)
    request = make_request(
        "understand",
        question,
        model,
        output_tokens=UNDERSTAND_OUTPUT_TOKENS,
        turns=escape_passage(before),
    )
    said = [text for turn in shown for text in (turn.question, turn.answer) if text]
    return complete_checked(model, request, lambda reply: parse_rewritten(reply, question, said))


def parse_rewritten(reply: ChatReply, question: str, said: Sequence[str]) -> str:
    """Parse a rewritten question; ``said`` are earlier questions and answers. Raises Unparsable."""
    read = restore(require_whole(reply).text)
    lines = [line.strip() for line in read.splitlines() if line.strip()]
    text = lines[0].strip("\"“”'` ") if len(lines) == 1 else ""
    if not 0 < len(text) <= LONGEST_REWRITTEN:
        raise Unparsable("The reply is not one question.")
    check_rewritten(text, question, said)
    return text


_ADDED_CHARACTERS = 80
"""Room for a name and the words around it, beside the question and an earlier one."""
_MOST_REPEATS = 2
"""How much more often than before a term may occur."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ASKED = tuple(
    re.compile(forms, re.IGNORECASE)
    for forms in (
        r"\bwhom?\b|谁|哪位|哪个人", r"\bwhose\b", r"\bwhat\b", r"\bwhich\b",
        r"\bwhen\b|什么时候|何时|哪一?年|哪天|几月|什么时间",
        r"\bwhere\b|哪里|哪儿|在哪|何地|何处|什么地方", r"\bwhy\b|为什么|为何|什么原因|怎么会",
        r"\bhow\b|多少|几|多[大长高久深远]",
    )
)  # fmt: skip
"""The forms of one question each, which a rewritten question keeps."""
_DECIDING = re.compile(
    r"\b(?:except|before|after|more|most|less|least|only|between|against|all|both|each|every)\b",
    re.IGNORECASE,
)
"""Stop words that change what a question asks."""
_ASKS = re.compile(
    rf"^\W*(?:{_ASKING})\b|[?？]\s*$|[谁哪几吗呢何]|什么|多少|怎|是否|是不是|有没有|能否",
    re.IGNORECASE,
)
_STATES = re.compile(r"\b(?:is|are|am|was|were|has|had|did|does|will)\b", re.IGNORECASE)


def check_rewritten(text: str, question: str, said: Sequence[str]) -> None:
    """Raise Unparsable if ``text`` does not ask what ``question`` asks after the texts ``said``.

    A model may resolve a pronoun and add what was said before. A reply that drops a name, a number,
    a negation or another word of the question, adds a word that nobody said, answers, or repeats
    itself is rejected.
    """
    longest = max(map(len, said), default=0)
    if len(text) > len(question) + longest + _ADDED_CHARACTERS:
        raise Unparsable("The rewritten question is much longer than the question.")
    before, after = Counter(terms(question)), Counter(terms(text))
    for term, count in after.items():
        if count > before[term] + _MOST_REPEATS and len(term) > 1:
            raise Unparsable(f"The rewritten question repeats `{term}` {count} times.")
    asked, asks, spoken = (
        simplify(part) for part in (question, text, "\n".join((question, *said)))
    )
    for form in _ASKED:
        if (found := form.search(asked)) and not form.search(asks):
            raise Unparsable(f"The rewritten question does not ask `{found[0]}`.")
    own = asked.rstrip(" ?？") if HAN_CHARACTER.search(asks) else asked
    if not _ASKS.search(asks) and (
        _ASKS.search(own) or _found(_STATES, asks) - _found(_STATES, asked)
    ):
        raise Unparsable("The reply is not a question.")
    lost = [term for term in _own_terms(question) if term not in after]
    lost += [c for word in _own_han(question) for c in word if c not in EMPTY_ZH and c not in asks]
    if lost := [*lost, *sorted(_found(_DECIDING, asked) - _found(_DECIDING, asks))]:
        raise Unparsable(f"The rewritten question has lost `{lost[0]}`.")
    if bool(denials_of(read_text(asked))) != bool(denials_of(read_text(asks))):
        raise Unparsable("The rewritten question adds or drops a negation.")
    known = set(terms(spoken))
    new = [term for term in _own_terms(text) if term not in known]
    if new := [*new, *(word for word in _own_han(text) if word not in spoken)]:
        raise Unparsable(f"The rewritten question adds `{new[0]}`, which nobody said.")


def _found(form: re.Pattern[str], text: str) -> set[str]:
    return {match[0].casefold() for match in form.finditer(text)}


def _own_terms(text: str) -> list[str]:
    """Return the content terms of a text except Han ones, and the names that are stop words."""
    found = [term for term in content_terms(text) if not HAN_CHARACTER.search(term)]
    words = list(_WORD.finditer(text))[1:]
    stopped = (match[0] for match in words if match[0][0].isupper() and match[0] != "I")
    return found + [term for word in stopped for term in terms(word) if term.isascii()]


def _own_han(text: str) -> list[str]:
    """Return the Han words of a text that have a content, simplified."""
    words = segment(text) if HAN_CHARACTER.search(text) else ()
    plain = (word.simplified for word in words if HAN_CHARACTER.search(word.text))
    return [word for word in plain if not all(c in EMPTY_ZH for c in word)]
