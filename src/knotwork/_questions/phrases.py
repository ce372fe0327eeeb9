"""Find the noun phrases of a question, and what it is about.

English is read by its function words: a phrase ends at a preposition, a verb of asking or a sign. Of
the words behind "does" or "can", the last one is the verb. Chinese is read by parts of speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from knotwork._questions.languages import CHINESE
from knotwork._text.languages import HAN_CHARACTER, HanWord, segment, simplify, word_set

_TOKEN = re.compile(r"--?[a-z][\w-]*|/?[^\W_](?:[\w'’.+#/-]*[\w+#])?|[^\w\s]")
_DETERMINERS = frozenset("the a an my our your each every no".split())
_BE = frozenset("is are was were am be been being".split())
_DO = frozenset("do does did can could should will would must may might shall".split())
_OPENS_ASKED = frozenset("which what whose how many much".split())
_WHO = frozenset(["who", "what"])
_AMOUNTS = "many much long often large big old far high deep soon fast wide tall few early late"
_FUNCTION = (
    word_set("en", "stop_words")
    | word_set("en", "never_a_name")
    | word_set("en", "prepositions")
    | frozenset(f"else instead per get got need needs default {_AMOUNTS}".split())
) - _DETERMINERS
_PARTICIPLE = re.compile(r"(?:ed|en|wn)$")
_NOUN = re.compile("^(?:n|vn|an|[bsftjl]$|eng|m|q)")
_LONGEST = 60


class Phrase(NamedTuple):
    """A noun phrase as written, and its offset. It is ``asked`` for in "how many columns"."""

    text: str
    start: int
    asked: bool = False

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.text)

    @property
    def head(self) -> str:
        """Its last word; of Chinese, its last two characters."""
        return self.text[-2:] if HAN_CHARACTER.search(self.text[-1:]) else self.text.split()[-1]


@lru_cache(maxsize=256)
def noun_phrases(question: str) -> tuple[Phrase, ...]:
    """Return the noun phrases of a question in order."""
    if HAN_CHARACTER.search(question):
        return tuple(_chinese_phrases(question))
    return tuple(_english_phrases(question))


def topic_of(question: str) -> str:
    """Return the words before what a Chinese question asks, as 海外出差 in 海外出差由谁审批？

    Of the words for a thing and what it has, as 浮标的高度, the thing. "" if it begins with what it
    asks.
    """
    simple = simplify(question)
    words = segment(question)
    cut = CHINESE.follow_ups["cut"]
    end, has_noun = 0, False
    for word, following in zip(words, [*words[1:], None], strict=True):
        rest = simple[word.start :]
        is_verb = word.tag[0] == "v" and word.tag != "vn"
        before_asking = following is None or following.tag[0] not in "pdr"
        if cut.match(rest) or (is_verb and has_noun and before_asking) or word.tag == "x" != " ":
            if word.text != " ":
                break
        has_noun |= _NOUN.match(word.tag) is not None
        end = word.end
    topic = question[:end].strip()
    owner, _, owned = topic.rpartition("的")
    return owner if owner and owned else topic.removesuffix("的")


class _Run(NamedTuple):
    """Words without a function word between them, and those around them.

    ``waits`` is "do" or "be" if a verb like these came before.
    """

    words: tuple[tuple[str, int], ...]
    before: str
    behind: str
    waits: str


def _english_phrases(question: str) -> Iterator[Phrase]:
    runs = list(_runs(question))
    verb = _run_with_verb(runs)
    for number, run in enumerate(runs):
        for words, asked in _parts(run, has_verb=number == verb):
            if words and (phrase := _joined(words, asked)):
                yield phrase


def _runs(question: str) -> Iterator[_Run]:
    words: list[tuple[str, int]] = []
    before, waits = "", ""
    for match in (*_TOKEN.finditer(question), None):
        token = match[0] if match else ""
        lower = token.lower()
        opens = lower in _DETERMINERS
        if match and (token[0].isalnum() or token[0] in "-/") and not opens:
            if lower not in _FUNCTION:
                words.append((token, match.start()))
                continue
        if words:
            yield _Run(tuple(words), before, lower, waits)
            words, before = [], ""
        if match and opens:
            words = [(token, match.start())]
            continue
        before = lower
        waits = "do" if lower in _DO else "be" if lower in _BE else waits


def _run_with_verb(runs: Sequence[_Run]) -> int:
    """Return the number of the run that ends with the main verb behind "does" or "can"; -1."""
    able = [
        number
        for number, run in enumerate(runs)
        if run.waits == "do"
        and len(_bare(run)) > 1
        and run.words[-1][0].islower()
        and run.behind not in _BE | {"have", "get", "need"}
    ]
    last = [n for n in able if runs[n].words[0][0][:1].isupper() and not runs[n].behind.isalnum()]
    return (last or able or [-1])[0]


def _bare(run: _Run) -> tuple[tuple[str, int], ...]:
    return run.words[1:] if run.words[0][0].lower() in _DETERMINERS else run.words


def _parts(
    run: _Run, *, has_verb: bool
) -> Iterator[tuple[Sequence[tuple[str, int]], bool]]:
    """Yield the phrases of a run, and whether each is asked for."""
    words, bare = run.words, _bare(run)
    if run.before in _OPENS_ASKED and bare == words:
        if run.behind in _BE | _DO or (len(words) == 1 and run.before != "what"):
            yield words, True
        elif len(words) > 1:
            yield words[:1], True
            yield words[2:], False
        return
    if run.before in _WHO and bare == words:
        yield words[1:], False
        return
    if has_verb or (run.waits == "be" and bare and _PARTICIPLE.search(bare[-1][0])):
        words = words[:-1]
    if run.waits:  # "Ian Murdock create Debian"
        for at in range(1, len(words) - 1):
            if words[at][0].islower() and words[at - 1][0][:1].isupper() and words[at + 1][0][:1].isupper():
                yield words[:at], False
                words = words[at + 1 :]
                break
    yield words, False


def _joined(run: Sequence[tuple[str, int]], asked: bool) -> Phrase | None:
    if len(run) == 1 and run[0][0].lower() in _DETERMINERS:
        return None
    (_, start), text = run[0], ""
    for token, place in run:
        text += " " * (place - start - len(text)) + token
    return Phrase(text, start, asked) if len(text) <= _LONGEST else None


def _chinese_phrases(question: str) -> Iterator[Phrase]:
    words = segment(question)
    run: list[HanWord] = []
    for word in [*words, HanWord("", "w", len(question), len(question), "")]:
        is_joint = bool(run) and (word.simplified == "的" or not word.text.strip())
        if word.text and (_NOUN.match(word.tag) or is_joint):
            run.append(word)
            continue
        while run and (run[-1].simplified == "的" or not run[-1].text.strip()):
            run.pop()
        if run and run[-1].end - run[0].start > 1:
            yield Phrase(question[run[0].start : run[-1].end], run[0].start)
        run = []
