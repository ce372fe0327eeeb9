"""Telling the line breaks of hard-wrapped prose from those that end something.

A break is mere wrapping where the next word would not have fitted on the line any more. At which
column that is, is told by the breaks that are wrapping for sure (the next line goes on in lower
case): those of the paragraph, else those of the whole text. A paragraph of two or three lines in a
text that tells nothing must show by its words that a sentence goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

LONGEST_LINE = 160
"""Nobody wraps lines at more characters: such lines are paragraphs."""
SLACK = 0.85
"""Lines of a wrapped paragraph may end before its longest line does, but not by much."""
NARROWEST = 40
"""Nobody wraps prose in fewer characters (half as many Chinese ones): such lines are lists."""
LEAST_EVIDENCE = 3
"""So many breaks that are surely wrapping tell the width of a text."""
_TYPICAL = 0.95
"""The quantile of the lengths of wrapped lines: a few long words stand out of the margin."""

_ITEM = re.compile(
    r"[ \t\u3000]*(?:[-*+•·▪◦‣–—●○■□◆◇►▶]\s|\d{1,3}[.)、．）](?!\d)"
    r"|[(（][\da-zA-Z一二三四五六七八九十]{1,3}[)）]"
    r"|[一二三四五六七八九十]{1,3}、|[a-zA-Z][.)]\s|#{1,6}\s|\||>|```|~~~|={3,}|-{3,}|\+-|第.{1,4}[章节節条條回篇])"
)
_WHOLE_LINE = re.compile(r"[ \t\u3000]*(?:#{1,6}\s|\||={3,}\s*$|-{3,}\s*$|```|~~~|[^\t\n]+\t)")
_KEY = re.compile(r"[ \t]*[^\W_][\w .()/%-]{0,40}[:：]\s")
# What begins a line of its own in a text that is wrapped: a short key, a field, a directive.
_OWN_LINE = re.compile(
    r"[ \t\u3000]*(?:[^\W_][\w()/%-]*(?: [\w()/%-]+){0,2}[:：](?:\s|$)|:[^:\n]{1,40}:|\.\.|@\w"
    r"|\[[^\]\n]{1,120}\]:|\[\w{1,4}\] |[\"'][\w.-]{1,40}[\"']:|[^\w\s]{3}|[<}\])])"
)
_COLUMNS = re.compile(
    r"\S(?:[ \u00a0]{3,}|\t)\S|(?<![.!?:])[ \u00a0]{2}\S.*[^.!?:\s][ \u00a0]{2}\S"
)
_OUTPUT_BELOW = re.compile(r"[ \t]*(?:>>>|\$|%) ")
_STOP_AT_END = re.compile(r"[.!?。！？…][\"'”’»)\]」』）]*\s*$")
_UNFINISHED = re.compile(
    r"(?:[,，、(（]|\b(?:the|an?|of|to|by|from|with|without|and|or|nor|but|for|in|at|on|as|into|onto"
    r"|upon|that|which|who|whom|whose|when|where|while|because|than|between|among|during|after"
    r"|before|under|over|through|against|toward|towards|via|per|his|her|its|their|our|my|your|this"
    r"|these|those|is|was|were|are|be|been|being|has|have|had|will|would|can|could|may|might|must"
    r"|should|shall|did|does|not|near|since|until|about|around|if|so|called|named|said))\s*$"
)
_SHORTEST_PROSE = 60
_FEWEST_WORDS = 8
_LONGEST_SMALL_WORD = 5  # "about", "under": what titles write without a capital
_USUALLY_FIRST = frozenset(
    re.findall(
        r"\w+",
        "the a an this that these those it he she we they you there here in on at for from with as "
        "after before during since when while where if although though because however but and or "
        "so yet then thus also both each some many most all no not what who why how see note use",
    )
)


def wrapping_width(text: str) -> float:
    """Return the column at which the prose of a text is wrapped, 0 where it is not."""
    sure: list[tuple[int, int]] = []
    wide = 0
    for line, following in pairwise(text.split("\n")):
        if (
            line
            and following
            and len(line) <= LONGEST_LINE
            and _goes_on_surely(line, following)
            and not (_WHOLE_LINE.match(line) or _ITEM.match(following))
        ):
            length = len(line.rstrip())
            sure.append((length, length + _room(following)))
            wide += is_wide(following[0])
    if len(sure) < LEAST_EVIDENCE:
        return 0
    width = sorted(length for length, _ in sure)[int(_TYPICAL * (len(sure) - 1))]
    filled = sum(reach > SLACK * width for _, reach in sure)
    narrowest = NARROWEST // 2 if 2 * wide > len(sure) else NARROWEST
    return width if width >= narrowest and 4 * filled >= 3 * len(sure) else 0


def unwrapped_parts(text: str, start: int, end: int, *, width: float) -> Iterator[tuple[int, int]]:
    """Yield the parts of a paragraph between the line breaks that are not mere wrapping.

    ``width`` is the `wrapping_width` of the text around the paragraph.
    """
    if text.find("\n", start, end) < 0:
        if start < end:
            yield start, end
        return
    lines = text[start:end].split("\n")
    own = _paragraph_width(lines)
    short_prose = not own and _is_short_prose(lines)
    longest = max(map(len, lines))
    part, position = start, start
    for line, following in pairwise(lines):
        position += len(line) + 1
        blank = not line.strip() or not following.strip()
        if blank or not (
            _is_wrapped(line, following, own)
            or (
                width
                and _fills(line, following, width)
                and not (position == start + len(line) + 1 and _is_title(line))
            )
            or (short_prose and _reads_on(line, following, longest))
        ):
            yield part, position
            part = position
    yield part, end


def is_wide(character: str) -> bool:
    """Tell whether a character is Chinese or Japanese."""
    return "\u3040" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0002ffff"


def _goes_on_surely(line: str, following: str) -> bool:
    return following[:1].islower() or (
        len(line) >= NARROWEST // 2 and is_wide(following[:1]) and is_wide(line.rstrip()[-1:])
    )


def _room(following: str) -> int:
    """Return how many characters the next line's first word would have needed."""
    word = _first_word(following)
    return 1 if is_wide(word[0]) else len(word) + 1


def _paragraph_width(lines: Sequence[str]) -> float:
    """Return the width at which a paragraph is wrapped, 0 when its lines stand for themselves.

    A wrapped paragraph goes on in lower case (or, in Chinese, without a stop) on many lines.
    """
    width = max(map(len, lines))
    if width > LONGEST_LINE:
        return 0
    going_on = sum(_goes_on_surely(line, following) for line, following in pairwise(lines))
    # Prose in long lines may have few of them: names and numbers begin lines too.
    is_long = width >= _SHORTEST_PROSE or (
        width >= NARROWEST // 2 and 2 * sum(map(is_wide, lines[0])) > len(lines[0])
    )
    return width if going_on * 3 >= len(lines) - 1 or (going_on and is_long) else 0


def _is_wrapped(line: str, following: str, width: float) -> bool:
    if _ITEM.match(following) or _WHOLE_LINE.match(line):
        return False
    if _KEY.match(line) and _KEY.match(following):
        return False
    if following.lstrip()[0].islower():
        return True
    return width > 0 and len(line.rstrip()) + _room(following) > SLACK * width


def _fills(line: str, following: str, width: float) -> bool:
    """Tell whether a line of prose fills the width at which its text is wrapped."""
    length = len(line.rstrip())
    return (
        length <= width + 2
        and length + _room(following) > width
        and len(following.rstrip()) <= width + 2
        and _may_go_on(line, following)
    )


def _is_title(line: str) -> bool:
    """Tell whether a line has the capitals of a title, and nothing that a sentence would have."""
    words = line.split()
    capitals = sum(word[0].isupper() for word in words)
    longest_other = max((len(word) for word in words if word[0].islower()), default=0)
    return (
        2 * capitals > len(words)
        and longest_other <= _LONGEST_SMALL_WORD
        and re.search(r"[,.;!?]", line) is None
        and _UNFINISHED.search(line) is None
    )


def _may_go_on(line: str, following: str) -> bool:
    """Tell whether neither line looks like one that stands for itself."""
    if _ITEM.match(following) or _WHOLE_LINE.match(line):
        return False
    if _OWN_LINE.match(following) or _COLUMNS.search(line) or _COLUMNS.search(following):
        return False
    if _OUTPUT_BELOW.match(line) or _first_word(line) == _first_word(following):
        return False  # lines that begin alike are a list
    if 2 * _indent(line) > len(line.rstrip()):
        return False  # it is set to the right or in the middle
    item = _ITEM.match(line)
    return _indent(following) <= (item.end() + 2 if item else _indent(line))


def _first_word(line: str) -> str:
    return line.split(None, 1)[0]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_short_prose(lines: Sequence[str]) -> bool:
    """Tell whether a paragraph is two or three lines that end like a sentence."""
    filled = [line for line in lines if line.strip()]
    return len(filled) in (2, 3) and _STOP_AT_END.search(filled[-1]) is not None


def _reads_on(line: str, following: str, longest: int) -> bool:
    """Tell by its words whether a line is prose that goes on, where no width is known."""
    length = len(line.rstrip())
    if longest > LONGEST_LINE or not _may_go_on(line, following):
        return False
    if longest >= length + _room(following):
        return False  # the next word would have fitted
    if 2 * sum(map(is_wide, line)) > length:
        last = line.rstrip()[-1]
        return length >= NARROWEST // 2 and (last.isalnum() or last in "，、·“‘「『《（")
    if length < _SHORTEST_PROSE or _STOP_AT_END.search(line):
        return False
    words = [word for word in line.split() if word[0].isalpha()]
    if len(words) < _FEWEST_WORDS or 2 * sum(word[0].islower() for word in words) <= len(words):
        return False
    first = _first_word(following).strip("\"'“‘([*_`").casefold()
    return first not in _USUALLY_FIRST or _UNFINISHED.search(line) is not None
