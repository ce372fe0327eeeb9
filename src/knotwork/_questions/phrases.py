"""Find the noun phrases of a question, and what it is about.

English is read by its function words: a phrase ends at a preposition, an auxiliary or a sign. Of
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
_DETERMINERS = frozenset(["the", "a", "an", "my", "our", "your", "each", "every", "no"])
_BE = frozenset(["is", "are", "was", "were", "am", "be", "been", "being"])
_AUXILIARIES = "do does did can could should will would must may might shall"
_DO = frozenset(_AUXILIARIES.split())
_OPENS_ASKED = frozenset(["which", "what", "whose", "how", "many", "much"])
_WHO = frozenset(["who", "what"])
_SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "that", "this", "there"])
_AMOUNTS = "many much long often large big old far high deep soon fast wide tall few early late"
_FUNCTION = (
    word_set("en", "stop_words")
    | word_set("en", "never_a_name")
    | word_set("en", "prepositions")
    | word_set("en", "adverbs")
    | frozenset(
        f"else instead per get got need needs default still already yet even {_AMOUNTS}".split()
    )
) - _DETERMINERS
_VERBS = word_set("en", "never_inside_terms")
_MAIN_VERBS = (
    "have get need say make become go take see know think come want give find tell ask feel try"
    " leave keep begin hear play move live hold bring write sit stand pay meet lead win"
)
_ENDING = _BE | frozenset(_MAIN_VERBS.split())
"""Verbs that end a run of words by themselves, so that the words before them have no verb."""
_WORDLIKE = re.compile(r"[^\W_]|[-/]\w")
_PARTICIPLE = re.compile(r"[a-z]+(?:ed|en|wn|rn|lt|ilt|ught)")
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
    """Return the words before what a Chinese question asks.

    They are 海外出差 in 海外出差由谁审批？ Of 浮标的高度, only the thing is returned. "" if the
    question begins with what it asks.
    """
    if time := CHINESE.follow_ups["time_first"].match(question):
        return topic_of(question[time.end() :])
    simple = simplify(question)
    words = [word for word in segment(question) if word.text.strip()]
    cut, stative, adjunct = (CHINESE.follow_ups[name] for name in ("cut", "stative", "adjunct"))
    end, has_noun, owner_end, thing_end = 0, False, 0, 0
    for word, following in zip(words, [*words[1:], None], strict=True):
        rest = simple[word.start :]
        is_verb = word.tag[0] == "v" and word.tag != "vn"
        goes_on = following is not None and (
            following.tag in ("p", "d") or following.simplified[0] in "每各"
        )
        is_over = (is_verb and not goes_on) or word.tag == "p" or word.text in "，,；;：:。？?"
        if cut.match(rest) or (has_noun and is_over):
            is_deed = word.tag[0] in "vr" and not stative.match(word.simplified)
            if is_deed and not adjunct.match(rest):
                end = thing_end or end  # "automatically" in what it does is no part of a thing
            break
        is_noun = _NOUN.match(word.tag) is not None
        has_noun |= is_noun
        thing_end = word.end if is_noun and word.tag != "vn" else thing_end
        if is_noun and following is not None and following.text == "的":
            owner_end = word.end
        end = word.end
    return question[: owner_end or end].strip().removesuffix("的").strip()


_Words = tuple[re.Match[str], ...]


class _Run(NamedTuple):
    """Words without a function word between them, and those around them.

    ``waits`` is "do" or "be" if a verb like these came before.
    """

    words: _Words
    before: str
    behind: str
    waits: str


def _english_phrases(question: str) -> Iterator[Phrase]:
    runs = list(_runs(question))
    verb = _run_with_verb(runs)
    for number, run in enumerate(runs):
        for words, asked in _parts(run, has_verb=number == verb):
            if _bare(words):
                text = question[words[0].start() : words[-1].end()]
                if len(text) <= _LONGEST:
                    yield Phrase(text, words[0].start(), asked)


def _runs(question: str) -> Iterator[_Run]:
    words: _Words = ()
    before, waits = "", ""
    for match in (*_TOKEN.finditer(question), None):
        token = match[0] if match else ""
        lower = token.lower()
        opens = lower in _DETERMINERS
        is_verb = bool(waits) and token in _VERBS
        if match and _WORDLIKE.match(token) and not (opens or is_verb or lower in _FUNCTION):
            words = (*words, match)
            continue
        if words:
            yield _Run(words, before, lower, waits)
            words, before = (), ""
        if match and opens:
            words = (match,)
            continue
        before = lower
        waits = "do" if lower in _DO else "be" if lower in _BE else waits


def _run_with_verb(runs: Sequence[_Run]) -> int:
    """Return the number of the run that ends with the main verb behind "does" or "can"; -1."""
    able = [
        number
        for number, run in enumerate(runs)
        if run.waits == "do"
        and len(_bare(run.words)) > 1
        and run.words[-1][0].islower()
        and run.behind not in _ENDING
    ]
    last = [n for n in able if runs[n].words[0][0][0].isupper() and not runs[n].behind.isalnum()]
    return (last or able or [-1])[0]


def _bare(words: _Words) -> _Words:
    return words[1:] if words and words[0][0].lower() in _DETERMINERS else words


def _parts(run: _Run, *, has_verb: bool) -> Iterator[tuple[_Words, bool]]:
    """Yield the phrases of a run, and whether each is asked for."""
    words, bare = run.words, _bare(run.words)
    if run.before == "how" or (run.waits == "do" and run.before in _SUBJECTS):
        yield words[1:], False  # behind "heavy" and "install"
        return
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
    if has_verb or (run.waits == "be" and bare and _PARTICIPLE.fullmatch(bare[-1][0])):
        words = words[:-1]
    cases = [word[0][0].isupper() for word in words]
    for at in range(1, len(words) - 1 if run.waits else 0):  # "Ian Murdock create Debian"
        if words[at][0].islower() and cases[at - 1] and cases[at + 1]:
            yield words[:at], False
            words = words[at + 1 :]
            break
    yield words, False


def _chinese_phrases(question: str) -> Iterator[Phrase]:
    words = segment(question)
    run: list[HanWord] = []
    for word in [*words, HanWord("", "w", len(question), len(question), "")]:
        is_joint = bool(run) and (word.simplified == "的" or not word.text.strip())
        asks = word.simplified == "时" or CHINESE.follow_ups["full"].match(word.simplified)
        if word.text and not asks and (_NOUN.match(word.tag) or is_joint):
            run.append(word)
            continue
        while run and (run[-1].simplified == "的" or not run[-1].text.strip()):
            run.pop()
        is_thing = any(word.tag[0] not in "mq" for word in run)
        if is_thing and run[-1].end - run[0].start > 1:
            yield Phrase(question[run[0].start : run[-1].end], run[0].start)
        run = []
