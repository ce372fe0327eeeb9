"""Sentences of English and Chinese text, by rules, as exact character spans.

The text is cut in four steps, each of which only ever makes the pieces smaller:

1. into *blocks* that no sentence crosses: blank lines, headings, list items, table rows, and line
   breaks that are not mere wrapping;
2. at the stops ``. ! ? … 。 ！ ？ ；`` with the quotes and brackets after them, unless the stop
   belongs to an abbreviation, an initial, a number or a quoted part of a longer sentence;
3. at double spaces, in blocks that have lost their stops;
4. at the best lesser boundary, where a piece is still longer than a model reads at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from knotwork.records import Span
from knotwork.text.wrapping import is_wide, unwrapped_parts, wrapping_width

LONGEST_SENTENCE = 600
"""Characters after which a sentence is cut at a lesser boundary."""
LONGEST_WIDE_SENTENCE = 240
"""The same where most characters are Chinese: each of them is about a token."""

_WIDE = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\U00020000-\U0002ffff"
_STOP = re.compile(
    r"[.!?…。！？｡；؟।۔]++[\"'”’»)\]}」』）】〕］｝]*+(?:[ ](?:''|”|’’))?+(?:\[\d{1,3}\])*+"
)
_INK = re.compile(r"\S")
_BLANK_LINE = re.compile(r"\n\s*\n\s*|[\f\v\u2029]\s*")
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[「『（]*+([^\W_]*)")
_LOST_STOP = re.compile(
    r"(?<=[\w%\"'”’)\]])[ \u00a0]{2,}(?=[\"'“‘(\[]?[^\W_a-z])"
    r"|(?<=\s[\"”])[ \u00a0]+(?=[\"“]?[A-Z])|(?<=[\"'”’])[ \u00a0]+(?=[\"“][A-Z])"
)
_SPEECH = re.compile(r"[^。！？，,\s]{0,8}?[说說道问問喊答叫讲講写寫想]")
_LESSER = (
    re.compile(r"\n\s*"),
    re.compile(r"[.!?。！？…][\"'”’)」』]*\s+"),
    re.compile(r"[;；]\s*"),
    re.compile(
        r"(?:, |\s[-–—]+ )(?=(?:and|but|or|so|yet|while|which|who|where|when|because|although)\b)"
    ),
    re.compile(r"[,:，：、)）]\s+|[，：、）]|[ \u00a0]{2,}"),
    re.compile(r"\s+"),
)


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Titles and the like: a name or a number follows, so the sentence goes on whatever comes.
_NEVER_LAST = _words(
    "mr mrs ms messrs mme mlle dr prof st ste mt ft rev hon gen col maj capt cmdr lt sgt cpl "
    "adm gov sen rep pres supt insp det sir fr vs v viz cf e.g i.e eg ie ca approx incl esp fl "
    "resp"
)
# Followed by a number (or a name in capitals) they are abbreviations, else words or unit ends.
_BEFORE_NUMBERS = _words(
    "no nos nr vol vols p pp pg fig figs sec sect ch chap art eq eqs ed eds op par para ver tab "
    "app jan feb mar apr jun jul aug sep sept oct nov dec c b d r"
)
# Abbreviations that can end a sentence: they do when a usual first word follows.
_SOMETIMES_LAST = _words(
    "inc ltd co corp bros llc plc jr sr esq etc al dept univ assn ave blvd rd hwy bldg est min "
    "max hr hrs sq a.m p.m am pm b.c a.d bc ad ph.d m.d b.a m.a b.sc m.sc d.c u.s u.k u.n e.u "
    "u.s.a u.s.s.r mon tue tues wed thu thur thurs fri sat sun lat long trans repr rev ret dist "
    "gmbh s.a n.v"
)
_FIRST_WORDS = _words(
    "the a an this that these those he she it they we you i his her its their our my your in on "
    "at by for from with as after before during since when while where if although though "
    "because however but and or so yet there here then thus also both each some many most all "
    "no not what who why how which despite according until under over between among other "
    "another one two such"
)


def split_sentences(text: str, *, start: int = 0, wrapped_at: float | None = None) -> list[Span]:
    """Return the spans of the sentences of ``text``, in order, each moved by ``start``.

    The spans are trimmed of white space, never overlap, and leave out nothing but white space.
    ``wrapped_at`` is the `wrapping_width` of the document that ``text`` is a part of; by default
    that of ``text``.
    """
    spans: list[Span] = []
    for block_start, block_end in _blocks(text, wrapped_at):
        piece_start = block_start
        for cut in (*_cuts(text, block_start, block_end), block_end):
            trimmed = _trim(text, piece_start, cut)
            if trimmed is not None:
                for low, high in _shorten(text, *trimmed):
                    spans.append(Span(low + start, high + start))
            piece_start = cut
    return spans


def _trim(text: str, start: int, end: int) -> Span | None:
    # Nothing is copied: what is left of a long sentence is trimmed once for each piece of it.
    first = _INK.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return Span(first.start(), end)


def _blocks(text: str, wrapped_at: float | None) -> Iterator[tuple[int, int]]:
    width = wrapping_width(text) if wrapped_at is None else wrapped_at
    start = 0
    for match in _BLANK_LINE.finditer(text):
        yield from unwrapped_parts(text, start, match.start(), width=width)
        start = match.end()
    yield from unwrapped_parts(text, start, len(text), width=width)


def _cuts(text: str, start: int, end: int) -> list[int]:
    """Return where, inside a block, one sentence ends and the next begins."""
    cuts = [
        match.end()
        for match in _STOP.finditer(text, start, end)
        if match.end() < end and _ends_sentence(text, match.start(), match.end(), start, end)
    ]
    lost = [
        match.end()
        for match in _LOST_STOP.finditer(text, start, end)
        if not _is_abbreviation(
            _word_before(text, match.start(), start), _word_after(text, match.end(), end)
        )
    ]
    if len(lost) > len(cuts):
        return sorted({*cuts, *lost})
    return cuts


def _ends_sentence(text: str, stop: int, after: int, start: int, end: int) -> bool:
    mark, following = text[stop], text[after]
    if mark in "。！？｡；؟।۔":
        return _wide_stop_ends(text, stop, after, end)
    if not following.isspace():
        return _unspaced_stop_ends(text, stop, after, end)
    word = _word_after(text, after, end)
    if word[:1].islower():
        return False
    if mark != "." or text[stop : stop + 2] == "..":
        return True
    before = _word_before(text, stop, start)
    if before.isdigit() and not text[start : stop - len(before)].strip():
        return False  # the number of a list item
    return not _is_abbreviation(before, word)


def _wide_stop_ends(text: str, stop: int, after: int, end: int) -> bool:
    following = text[after]
    if following in "》〉，、,：:":
        return False
    if after - stop > 1 and text[after - 1] in "”’」』\"'":
        # A quoted sentence inside a longer one: “…？”的问题, “……。”他说
        return following not in "的地得了之和与與；;。" and not _SPEECH.match(text, after, end)
    return True


def _unspaced_stop_ends(text: str, stop: int, after: int, end: int) -> bool:
    before, following = text[stop - 1 : stop], text[after]
    if is_wide(following) or following in "“「『（":
        return is_wide(before) if text[stop] != "…" else after - stop > 1
    # A lost space: "…the end.Next come", but not "Node.js", "e.g.The" or "U.S.A"
    return (
        after - stop == 1
        and following.isupper()
        and text[max(stop - 3, 0) : stop].isalpha()
        and text[max(stop - 3, 0) : stop].islower()
        and text[after : min(after + 16, end)].partition(" ")[1] == " "
        and text[after + 1 : after + 2].islower()
    )


def _word_before(text: str, stop: int, start: int) -> str:
    words = text[max(start, stop - 24) : stop].split()
    if not words or text[stop - 1].isspace():
        return words[-1] if words and len(words[-1]) <= 4 and text[stop - 1 : stop] != "." else ""
    return words[-1].lstrip("\"'“‘«([{（_*")


def _word_after(text: str, after: int, end: int) -> str:
    match = _NEXT_WORD.match(text, after, end)
    return match.group(1) if match else ""


def _is_abbreviation(word: str, following: str) -> bool:
    """Tell whether a stop after ``word`` belongs to it, when ``following`` comes next."""
    if not word:
        return False
    key = word.casefold()
    if key in _NEVER_LAST:
        return True
    if key in _BEFORE_NUMBERS and (following[:1].isdigit() or following.isupper()):
        return True
    single = len(word) == 1 and word.isalpha() and word.isupper()
    dotted = "." in word and all(len(part) <= 2 for part in word.split("."))
    if single or dotted or key in _SOMETIMES_LAST:
        return bool(following) and following.casefold() not in _FIRST_WORDS
    return False


def _shorten(text: str, start: int, end: int) -> Iterator[Span]:
    """Cut a piece that is too long at its best lesser boundaries."""
    while end - start > LONGEST_WIDE_SENTENCE:
        head = text[start : min(end, start + LONGEST_SENTENCE)]
        longest = LONGEST_SENTENCE
        if 2 * len(re.findall(f"[{_WIDE}]", head)) > len(head):
            longest = LONGEST_WIDE_SENTENCE
        if end - start <= longest:
            break
        cut = _lesser_boundary(text, start + longest // 3, start + longest)
        piece = _trim(text, start, cut)
        if piece is not None:
            yield piece
        rest = _trim(text, cut, end)
        if rest is None:
            return
        start = rest.start
    yield Span(start, end)


def _lesser_boundary(text: str, low: int, high: int) -> int:
    for pattern in _LESSER:
        ends = [match.end() for match in pattern.finditer(text, low, high)]
        if ends:
            return ends[-1]
    return character_boundary(text, low, high)


def character_boundary(text: str, low: int, high: int) -> int:
    """Return the cut nearest below ``high`` that parts no letter from its accents, and no emoji.

    Where there is none above ``low``, ``high`` is returned.
    """
    cut = high
    while cut > low and (
        unicodedata.category(text[cut])[0] == "M"
        or text[cut] in "\u200d\ufe0f"
        or text[cut - 1] == "\u200d"
    ):
        cut -= 1
    return cut if cut > low else high
