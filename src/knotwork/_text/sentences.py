"""Split English and Chinese text into sentences, by rules, as exact character spans.

The text is first cut into blocks: at blank lines, headings, list items, table rows, and line breaks
that are not wrapping. Blocks are cut at stops that end a sentence, or at double spaces if they have
lost their stops. A piece that is still too long is cut at the best lesser boundary. A line break
counts as wrapping if the next word would not have fitted on the line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from knotwork._cancellation import checked
from knotwork._text.languages import UNSPACED, is_wide, word_set
from knotwork.records import Span

LONGEST_SENTENCE = 600
"""Characters beyond which a sentence is cut at a lesser boundary."""
LONGEST_WIDE_SENTENCE = 240
"""The same limit if most characters are Chinese, each of which is about a token."""

_WIDE = "\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\U00020000-\U0002ffff"
_STOP = re.compile(
    # German closes quotes with the signs that open them in English.
    r"[.!?…。！？｡；؟।۔]++[\"'”’»)\]}」』）】〕］｝]*+"
    r"(?:[“‘«‹][)\]]?(?=\s|\Z))?+(?:[ ](?:''|”|’’))?+(?:\[\d{1,3}\])*+"
)
_IS_UNIT = re.compile(r"\d[ \u00a0]?[^\W\d_]{1,4}\Z")
_LETTER_AFTER = re.compile(r"\.\s[^\W\d_]\.")
"""After the first letter of "z. B."."""
_SPACED_BEFORE = re.compile(r"(?<![^\s(])[^\W\d_]\.[ \u00a0][^\W\d_]\Z")
"""The beginning of "u. a. Ulm"."""
_INK = re.compile(r"\S")
_BLANK_LINE = re.compile(r"\n\s*\n\s*|[\f\v\u2029]\s*")
_ELIDED = re.compile(r"(?:[cdjlmnst]|qu)['’]", re.IGNORECASE)
"""The beginning of a French word: "l'art. 5"."""
_NEXT_WORD = re.compile(r"[\s\"'“‘«(\[「『（§]*+([^\W_]*)")
_MONTH_AFTER = re.compile(r"\.[ \u00a0](?:0?[1-9]|1[0-2])\.(?!\w)")
"""After the day of "3. 5. 2024"."""
_DAY_BEFORE = re.compile(r"(?<!\d)\d{1,2}\.[ \u00a0]?\d{1,2}\Z")
_ORDINAL_BEFORE = re.compile(
    r"\b(?:(?<!I )am|der|dem|den|des|die|das|beim|im|vom|zum|zur)[ \u00a0]\d{1,2}\Z", re.IGNORECASE
)
"""The beginning of "am 3. Spieltag"."""
_LETTERED_BEFORE = re.compile(
    r"\b(?:[Vv]itamine?s?|[Hh]epatitis|plan|type|grade|class|group|option|gate|level|zone|deck)"
    r"[ \u00a0][A-Z]\Z"
)
"""A letter behind a word that it counts, not the first one of a name: "vitamin C"."""
_JOINED_TITLE = re.compile(r"[^\W\d_]{2,}\.-[A-ZÄÖÜ][a-zäöü]{1,3}")
"""As in "Dipl.-Ing."."""
_BEFORE_FIGURES = re.compile(r"gem|mwst|ust|ziff|n|[^\W\d_]{2,}-?(?:str|pl|nr)")
"""Abbreviations only before a number in figures, in lower case."""
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


_NEVER_LAST = word_set("en", "never_last")
_BEFORE_NUMBERS = word_set("en", "before_numbers")
_SOMETIMES_LAST = word_set("en", "sometimes_last")
_WITH_CAPITAL = word_set("en", "sometimes_last_with_capital")
_AFTER_ORDINALS = word_set("de", "after_ordinals")
_FIRST_WORDS = word_set("en", "first_words")
_GERMAN_FIRST_WORDS = word_set("de", "first_words")


def split_sentences(text: str, *, start: int = 0, wrapped_at: float | None = None) -> list[Span]:
    """Return the spans of the sentences of ``text``, in order, each shifted by ``start``.

    The spans do not overlap, have no white space at their ends, and together omit only white space.
    ``wrapped_at`` is the `wrapping_width` of the document that contains ``text``; by default, that
    of ``text`` itself.
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
    # Copy nothing: the rest of a long sentence is trimmed once for each of its pieces.
    first = _INK.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return Span(first.start(), end)


def _blocks(text: str, wrapped_at: float | None) -> Iterator[tuple[int, int]]:
    width = wrapping_width(text) if wrapped_at is None else wrapped_at
    start = 0
    for match in checked(_BLANK_LINE.finditer(text)):
        yield from unwrapped_parts(text, start, match.start(), width=width)
        start = match.end()
    yield from unwrapped_parts(text, start, len(text), width=width)


def _cuts(text: str, start: int, end: int) -> list[int]:
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
    if word[:1].islower() or mark != "." or text[stop : stop + 2] == "..":
        return not word[:1].islower()
    return _full_stop_ends(text, stop, word, start)


def _full_stop_ends(text: str, stop: int, word: str, start: int) -> bool:
    """Return True if a full stop before white space and ``word`` ends a sentence."""
    before = _word_before(text, stop, start)
    if before.isdigit():
        # Neither the number of a list item nor that in "3. Mai".
        is_item = _INK.search(text, start, stop - len(before)) is None
        return not is_item and not (len(before) < 3 and _is_counted(text, stop, word, start))
    is_first = _is_first(word)
    if len(before) == 1 and _LETTER_AFTER.match(text, stop):
        return False
    if _IS_UNIT.search(text, max(start, stop - 24), stop):
        return is_first or not _is_abbreviation(before, word)
    is_spaced = _SPACED_BEFORE.search(text, max(start, stop - 8), stop) and word and not is_first
    if is_spaced:
        return False
    lettered = _LETTERED_BEFORE.search(text, max(start, stop - 24), stop)
    return (lettered is not None and word.isalpha()) or not _is_abbreviation(before, word)


def _is_counted(text: str, stop: int, word: str, start: int) -> bool:
    """Return True if a number of one or two digits with a stop is part of a date or an ordinal."""
    near = max(start, stop - 12)
    if word.isdigit():
        is_year = len(word) == 4 and _DAY_BEFORE.search(text, near, stop) is not None
        return is_year or _MONTH_AFTER.match(text, stop) is not None
    is_ordinal = _ORDINAL_BEFORE.search(text, near, stop) is not None and not _is_first(word)
    return word.casefold() in _AFTER_ORDINALS or (is_ordinal and bool(word))


def _is_first(word: str) -> bool:
    return word.casefold() in _FIRST_WORDS or word.casefold() in _GERMAN_FIRST_WORDS


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
    return _ELIDED.sub("", words[-1].lstrip("\"'“„‘«([{（_*"))


def _word_after(text: str, after: int, end: int) -> str:
    match = _NEXT_WORD.match(text, after, end)
    return match.group(1) if match else ""


def _is_abbreviation(word: str, following: str) -> bool:
    if not word:
        return False
    key = word.casefold()
    if key in _NEVER_LAST:
        return True
    is_before_figure = following[:1].isdigit()
    is_numbered = key in _BEFORE_NUMBERS and (is_before_figure or following.isupper())
    if is_numbered or (is_before_figure and _BEFORE_FIGURES.fullmatch(key)):
        return True
    single = len(word) == 1 and word.isalpha() and word.isupper()
    dotted = "." in word and all(len(part) <= 2 for part in word.split("."))
    if single or dotted:
        return bool(following) and following.casefold() not in _FIRST_WORDS
    if key in _SOMETIMES_LAST or word in _WITH_CAPITAL or _JOINED_TITLE.fullmatch(word):
        return bool(following) and not _is_first(following)
    return False


def _shorten(text: str, start: int, end: int) -> Iterator[Span]:
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
    """Return the last offset up to ``high`` that splits no accented letter and no emoji.

    Returns ``high`` if there is no such offset above ``low``.
    """
    cut = high
    while cut > low and (
        unicodedata.category(text[cut])[0] == "M"
        or text[cut] in "\u200d\ufe0f"
        or text[cut - 1] == "\u200d"
    ):
        cut -= 1
    return cut if cut > low else high


LONGEST_LINE = 160
"""The widest wrapping; a longer line is a paragraph."""
SLACK = 0.85
"""Minimum length of a wrapped line with the next word, as a share of the paragraph's width."""
NARROWEST = 40
"""The narrowest wrapping of prose (half for Chinese); shorter lines are lists."""
LEAST_EVIDENCE = 3
"""Line breaks that are certainly wrapping, needed to determine the width of a text."""
_TYPICAL = 0.95
"""The quantile of the lengths of wrapped lines that is the width: a few long words exceed it."""

_ITEM = re.compile(
    r"[ \t\u3000]*(?:[-*+•·▪◦‣–—●○■□◆◇►▶]\s|\d{1,3}[.)、．）](?!\d)"
    r"|[(（][\da-zA-Z一二三四五六七八九十]{1,3}[)）]"
    r"|[一二三四五六七八九十]{1,3}、|[a-zA-Z][.)]\s|#{1,6}\s|\||>|```|~~~|={3,}|-{3,}|\+-|第.{1,4}[章节節条條回篇])"
)
_WHOLE_LINE = re.compile(r"[ \t\u3000]*(?:#{1,6}\s|\||={3,}\s*$|-{3,}\s*$|```|~~~|[^\t\n]+\t)")
_KEY = re.compile(r"[ \t]*[^\W_][\w .()/%-]{0,40}[:：]\s")
# Starts of separate lines in a wrapped text: a short key, a field, a directive.
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
_LONGEST_SMALL_WORD = 5  # "about", "under": words without a capital in titles
_USUALLY_FIRST = word_set("en", "usually_first")


def wrapping_width(text: str) -> float:
    """Return the column at which the prose of a text is wrapped, or 0 if it is not wrapped."""
    sure: list[tuple[int, int]] = []
    wide = 0
    for line, following in pairwise(text.split("\n")):
        if (
            line
            and following
            and len(line) <= LONGEST_LINE
            and _is_surely_wrapped(line, following)
            and not (_WHOLE_LINE.match(line) or _ITEM.match(following))
        ):
            length = len(line.rstrip())
            sure.append((length, length + _first_word_length(following)))
            wide += is_wide(following[0])
    if len(sure) < LEAST_EVIDENCE:
        return 0
    width = sorted(length for length, _ in sure)[int(_TYPICAL * (len(sure) - 1))]
    filled = sum(reach > SLACK * width for _, reach in sure)
    narrowest = NARROWEST // 2 if 2 * wide > len(sure) else NARROWEST
    return width if width >= narrowest and 4 * filled >= 3 * len(sure) else 0


def unwrapped_parts(text: str, start: int, end: int, *, width: float) -> Iterator[tuple[int, int]]:
    """Yield the parts of a paragraph between line breaks that are not wrapping.

    ``width`` is the `wrapping_width` of the text that contains the paragraph.
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


def join_wrapped(text: str, *, width: float) -> str:
    """Return a paragraph with each wrapped line joined to the one before.

    ``width`` is the `wrapping_width` of the text that contains the paragraph.
    """
    if "\n" not in text:
        return text
    parts = unwrapped_parts(text, 0, len(text), width=width)
    return "\n".join(join_lines(text[start:end].split("\n")) for start, end in parts)


def join_lines(lines: Iterable[str]) -> str:
    """Return lines as one, joined by a space, but without one between Chinese characters."""
    joined = "\n".join(filter(None, map(str.strip, lines)))
    return without_wide_wraps(joined).replace("\n", " ")


def without_wide_wraps(text: str) -> str:
    """Return a text without the white space around line ends between Chinese characters."""
    return _WIDE_WRAP.sub("", text)


_WIDE_WRAP = re.compile(
    rf"(?<=[{UNSPACED}，。、；：！？）》」』”’—…])[ \t\r]*+\n\s*+(?=[{UNSPACED}])"
)


def _is_surely_wrapped(line: str, following: str) -> bool:
    return following[:1].islower() or (
        len(line) >= NARROWEST // 2 and is_wide(following[:1]) and is_wide(line.rstrip()[-1:])
    )


def _first_word_length(following: str) -> int:
    """Return the characters that the first word of the next line needs, with its space."""
    word = _first_word(following)
    return 1 if is_wide(word[0]) else len(word) + 1


def _paragraph_width(lines: Sequence[str]) -> float:
    """Return the width at which a paragraph is wrapped, or 0 if its lines are independent.

    In a wrapped paragraph, many lines start in lower case (in Chinese: follow a line without stop).
    """
    width = max(map(len, lines))
    if width > LONGEST_LINE:
        return 0
    wrapped = sum(_is_surely_wrapped(line, following) for line, following in pairwise(lines))
    # Prose in long lines may have few such lines, since names and numbers start lines too.
    is_long = width >= _SHORTEST_PROSE or (
        width >= NARROWEST // 2 and 2 * sum(map(is_wide, lines[0])) > len(lines[0])
    )
    return width if wrapped * 3 >= len(lines) - 1 or (wrapped and is_long) else 0


def _is_wrapped(line: str, following: str, width: float) -> bool:
    if _ITEM.match(following) or _WHOLE_LINE.match(line):
        return False
    if _KEY.match(line) and _KEY.match(following):
        return False
    if following.lstrip()[0].islower():
        return True
    return width > 0 and len(line.rstrip()) + _first_word_length(following) > SLACK * width


def _fills(line: str, following: str, width: float) -> bool:
    """Return True if a line of prose fills the width at which its text is wrapped."""
    length = len(line.rstrip())
    return (
        length <= width + 2
        and length + _first_word_length(following) > width
        and len(following.rstrip()) <= width + 2
        and _may_continue(line, following)
    )


def _is_title(line: str) -> bool:
    """Return True if a line is capitalised like a title and has no sign of a sentence."""
    words = line.split()
    capitals = sum(word[0].isupper() for word in words)
    longest_other = max((len(word) for word in words if word[0].islower()), default=0)
    return (
        2 * capitals > len(words)
        and longest_other <= _LONGEST_SMALL_WORD
        and re.search(r"[,.;!?]", line) is None
        and _UNFINISHED.search(line) is None
    )


def _may_continue(line: str, following: str) -> bool:
    """Return True if neither line looks independent, as list items, fields and columns do."""
    if _ITEM.match(following) or _WHOLE_LINE.match(line):
        return False
    if _OWN_LINE.match(following) or _COLUMNS.search(line) or _COLUMNS.search(following):
        return False
    if _OUTPUT_BELOW.match(line) or _first_word(line) == _first_word(following):
        return False  # lines with the same first word are a list
    if 2 * _indent(line) > len(line.rstrip()):
        return False  # centred or right-aligned
    item = _ITEM.match(line)
    return _indent(following) <= (item.end() + 2 if item else _indent(line))


def _first_word(line: str) -> str:
    return line.split(None, 1)[0]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_short_prose(lines: Sequence[str]) -> bool:
    """Return True if a paragraph has two or three lines and ends like a sentence."""
    filled = [line for line in lines if line.strip()]
    return len(filled) in (2, 3) and _STOP_AT_END.search(filled[-1]) is not None


def _reads_on(line: str, following: str, longest: int) -> bool:
    """Return True if the words of a line are prose that continues; for text of unknown width."""
    length = len(line.rstrip())
    if longest > LONGEST_LINE or not _may_continue(line, following):
        return False
    if longest >= length + _first_word_length(following):
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
