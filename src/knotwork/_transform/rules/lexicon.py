"""Word lists and the tokenizer that the extraction rules share."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from knotwork._text.chinese import HAN_AND_KANA
from knotwork._text.names import STOP_NAMES, normal_form
from knotwork._text.visible import MARKS


def word_set(listed: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(listed.split())


STARTERS = STOP_NAMES | word_set(
    """above according accordingly across actually additionally afterwards ahead along alongside
    alternatively amid among another anyway apart approximately around aside basically behind below
    beneath beside besides beyond briefly certainly clearly consequently conversely currently
    dear despite due earlier eventually except far finally first firstly following formerly
    fortunately frequently further furthermore generally given hence here historically hopefully
    including indeed initially inside instead lastly later lately less likewise mainly maybe
    meanwhile moreover mostly nearly nevertheless next nonetheless nor normally notably nothing
    now occasionally often okay oh ok originally otherwise outside overall perhaps plus possibly
    presumably previously primarily probably prior rather recently regarding second secondly seldom
    several shortly similarly simply sometimes somewhat soon specifically still subsequently
    suddenly supposedly surely thereafter therefore third thirdly throughout thus today together
    tomorrow tonight toward towards typically ultimately undoubtedly unfortunately unlike usually
    versus via whenever whereas wherever whoever whatever whilst yesterday let let's i'm i've i'd
    i'll it's he's she's that's there's they're we're you're don't didn't can't won't isn't please
    yeah yep nope wow hey hi hello hiya thanks sorry welcome
    see note click figure table chapter section part thank"""
)
"""Words that start a sentence and are not part of a following name."""

PARTICLES = word_set(
    "de von van der den du di da del della dos das bin ibn al el la le les y zu ten ter"
)
"""Small words inside a name that never separate two names."""

JOINERS = word_set("of for and & the in on at to with from") | PARTICLES
"""Small words that may join two capitalised words."""

LOOSE_JOINERS = word_set("in on at to with from")
"""Joiners that occur more often between two names than inside one."""

CALENDAR = word_set(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept
    oct nov dec mon tue wed thu fri sat sun am pm bc ad bce ce"""
)
"""Capitalised words that are not names on their own."""

GENERIC_HEADS = word_set(
    """king queen prince princess duke duchess earl count countess baron baroness bishop archbishop
    pope emperor empress president minister secretary governor mayor senator general admiral captain
    colonel chairman director professor doctor sir lord lady saint st dr mr mrs ms house board bank
    state republic kingdom empire province county city town village district university college
    school institute ministry department office bureau center centre museum church cathedral abbey
    battle treaty war order book act bill house court council committee association society
    federation union league party army navy museum library museum gulf isle island islands bay cape
    mount lake river sea street avenue festival award awards prize medal hall life death birth
    history list art arts academy band part chapter volume season episode north south east west
    northern southern eastern western central upper lower new old great national royal international
    united day night world people best company group club team member members margrave landgrave
    chief head house son daughter brother sister father mother faculty master bachelor"""
)
"""Words that are not names without the rest of a longer name."""

NOBLE_TITLES = word_set(
    """duke duchess earl count countess baron baroness margrave prince princess king queen bishop
    landgrave elector marquess marquis viscount lord"""
)
"""Titles that follow a name and a comma."""

HONORIFICS = word_set(
    """mr mr. mrs mrs. ms ms. dr dr. prof prof. professor president king queen prince princess sir
    lord lady pope emperor empress saint senator sen. governor gov. judge justice captain capt.
    capt general gen. gen colonel col. col lieutenant lt. lt major sergeant admiral rev. reverend
    father bishop archbishop cardinal duke duchess earl count countess baron baroness dame sheikh
    sultan chancellor ceo cfo cto coach"""
)
"""Titles in front of a person's name."""

PERSON_NOUNS = word_set(
    """actor actress architect artist astronaut athlete author boxer businessman businesswoman
    character chairman chef chemist comedian composer conductor cricketer designer director
    drummer economist editor emperor engineer entrepreneur filmmaker footballer founder general
    guitarist historian husband inventor journalist judge king lawyer manager mathematician mayor
    mother father brother sister son daughter wife musician narrator novelist painter philosopher
    photographer physicist pianist player playwright poet politician president producer professor
    psychologist queen rapper screenwriter sculptor senator singer soldier songwriter violinist
    vocalist widow writer ceo"""
)
"""Nouns that occur right before a person's name."""

ORGANIZATION_ENDS = word_set(
    """inc inc. ltd ltd. llc plc corp corp. corporation co. company gmbh ag s.a. university college
    institute academy school association society foundation federation committee commission council
    agency ministry department bureau party club league union bank group records studios pictures
    entertainment press airlines airways motors industries technologies holdings partners f.c. fc
    orchestra philharmonic symphony museum library hospital church army navy band choir team
    parliament congress senate brothers bros bros."""
)
ORGANIZATION_HEADS = word_set(
    """university institute academy ministry department bank board bureau church college committee
    association society council federation office school museum confederation faculty"""
)
PLACE_ENDS = word_set(
    """river lake mountain mountains street avenue road county island islands city bay sea ocean
    province district valley park peninsula desert forest beach harbour harbor airport station
    castle palace cathedral abbey bridge square stadium township village municipality oblast
    prefecture region hills coast glacier canyon falls"""
)
PLACE_HEADS = word_set(
    "lake mount mt. cape fort gulf isle bay strait republic kingdom province county"
)
WORK_NOUNS = word_set(
    """film movie novel book album song single play opera poem painting series sitcom musical
    magazine newspaper documentary ballet symphony ep comic manga anime video game"""
)
"""Nouns that occur right before or after the name of a work."""

PRONOUNS = word_set("he she it they his her its their this these")
"""Words at the start of a sentence that refer to the topic of the text."""

VERBS_OF_BEING = word_set(
    """is are was were has have had 's became becomes remains refers means may can will would
    should must does did served played born died founded established located known"""
)
"""Verbs that follow the subject of a definition."""


def _data_lines(name: str) -> list[str]:
    data = files("knotwork._transform.rules").joinpath(f"data/{name}").read_text("utf-8")
    return [line for line in data.splitlines() if not line.startswith("#")]


@cache
def common_words() -> frozenset[str]:
    """Return English words that hardly ever have a capital inside a sentence."""
    return word_set(" ".join(_data_lines("common_english.txt")))


@cache
def given_names() -> frozenset[str]:
    """Return given names in lower case."""
    return word_set(" ".join(_data_lines("given_names.txt")).lower())


@cache
def place_names() -> frozenset[str]:
    """Return the normal forms of well-known places."""
    return frozenset(
        normal_form(name) for line in _data_lines("places.txt") for name in line.split("|")
    )


WORD, CAPITAL, NUMBER, DATE, CODE, HAN, POSSESSIVE, SIGN = range(8)
"""Kinds of tokens; CAPITAL is a word with an upper-case letter."""


class Token(NamedTuple):
    """A token with its offsets into the sentence."""

    text: str
    lower: str
    start: int
    end: int
    kind: int


_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{3,4}(?!\w)"
_LETTER = rf"(?:[^\W\d_{HAN_AND_KANA}][{MARKS}]*+)"
_LETTER_OR_DIGIT = rf"(?:[^\W{HAN_AND_KANA}][{MARKS}]*+)"
_SUFFIXES = (
    "py|js|ts|md|json|toml|ya?ml|txt|csv|sh|cpp|java|go|rs|sql|html|xml|ini|cfg|conf|exe|dll|log"
    "|pdf|docx|xlsx"
)
_PLAIN_END = rf"(?![\w{MARKS}@'’&+#-]|\.\w|\(\)|://)"
_TOKEN = re.compile(
    # For speed, start with the two kinds of words that make up nearly all of a text.
    rf"(?P<lower>[a-z]+{_PLAIN_END})"
    rf"|(?P<capital>(?!Jan|Feb|Ma[ry]|Apr|Ju[nl]|Aug|Sep|Oct|Nov|Dec)[A-Z][a-z]{{3,}}{_PLAIN_END}(?!\.))"
    rf"|(?P<code>https?://[^\s<>\"')\]]+|www\.[^\s<>\"')\]]+|[\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<!`)`(?!`)[^`\n]{{1,80}}`(?!`)"
    rf"|(?<![\w/.~])(?:~/|/(?=[\w.+-]+/|(?:etc|usr|var|tmp|dev|proc|srv|opt|boot)\b))[\w.+@/-]{{0,120}}\w"
    rf"|(?<![\w-])--[a-z][\w-]{{1,60}}"
    rf"|[\w-]{{1,80}}\.(?:{_SUFFIXES})\b|\w{{1,80}}\(\)"
    rf"|[a-z]\w*(?:\.[A-Za-z_]\w+){{0,9}}\.[a-z]\w+(?:\(\))?(?<=\w\w)(?!\.\w)"
    rf"|{_LETTER}\w*_\w+)"
    rf"|(?P<date>{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}|{_MONTH}\s+{_DAY},?\s+{_YEAR}"
    rf"|{_MONTH},?\s+{_YEAR}|\d{{4}}-\d\d-\d\d(?!\d))"
    rf"|(?P<day>{_DAY}\s+{_MONTH}(?!\w)|{_MONTH}\s+{_DAY}(?!\w))"
    rf"|(?P<number>[$€£¥]?\d+(?:[.,]\d+)*(?:-?{_LETTER_OR_DIGIT}+)*%?)"
    rf"|(?P<initial>(?:[A-Z]\.){{2,}}|[A-Z]\.(?=\s?[A-Z]))"
    r"|(?P<short>(?:St|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Gen|Col|Lt|Capt|Rev|Hon|Mt|Ft|Inc|Ltd|Corp|Co|Bros)\.)"
    rf"|(?P<word>{_LETTER}+\d*(?:(?:['’](?![sS]\b)|[-‐‑&])?{_LETTER_OR_DIGIT}+)*(?:\+\+|#(?!\w)|(?<=n)['’](?=\s[A-Z]))?)"
    rf"|(?P<han>[{HAN_AND_KANA}]+)"
    r"|(?P<possessive>['’][sS]\b|(?<=[sS])['’](?=\s))"
    r"|(?P<sign>\S)"
)
_TOKEN_KINDS = {
    "lower": WORD,
    "capital": CAPITAL,
    "code": CODE,
    "date": DATE,
    "day": SIGN,  # not a date without its year
    "number": NUMBER,
    "initial": CAPITAL,
    "short": CAPITAL,
    "word": WORD,
    "han": HAN,
    "possessive": POSSESSIVE,
    "sign": SIGN,
}


class EnglishSentence:
    """A tokenized sentence and its offset in the document.

    ``headline`` is True if nearly all words are capitalised, so that capitals mean little.
    ``marked`` are the positions of tokens that may start a name: all but plain words and signs.
    """

    __slots__ = ("end", "headline", "marked", "start", "text", "tokens")

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.tokens = tokenize(text)
        self.marked = [i for i, t in enumerate(self.tokens) if CAPITAL <= t.kind <= HAN]
        self.headline = self._is_headline()

    def _is_headline(self) -> bool:
        if len(self.marked) < 4:
            return False
        words = [t for t in self.tokens if t.kind <= CAPITAL and t.lower not in JOINERS]
        if len(words) < 5:
            return False
        in_capitals = sum(t.text.isupper() for t in words)
        capitalised = sum(t.kind == CAPITAL for t in words)
        ends = self.tokens[-1].text == "."
        return in_capitals >= 0.6 * len(words) or (capitalised >= 0.75 * len(words) and not ends)


def tokenize(sentence: str) -> list[Token]:
    """Split a sentence into tokens; white space is dropped."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        text = match[0]
        group = match.lastgroup
        start, end = match.span()
        if group == "lower":
            tokens.append(Token(text, text, start, end, WORD))
            continue
        lower = text.lower()
        kind = _TOKEN_KINDS[group or "sign"]
        if kind == WORD and lower != text:
            if text[0] == lower[0] and "-" in text:  # post-War, mid-Atlantic: the name starts late
                start += text.index("-") + 1
                text, lower = sentence[start:end], sentence[start:end].lower()
            kind = CAPITAL if lower != text else WORD
        tokens.append(Token(text, lower, start, end, kind))
    return tokens


class Occurrence(NamedTuple):
    """A name in a sentence; offsets refer to the searched text.

    A ``part`` is inside a longer name ("Elmham" in "Bishop of Elmham"). A ``doubtful`` name may be
    any words, such as those between Chinese quotation marks; it serves to find chunks, but is not
    shown.
    """

    start: int
    end: int
    form: str
    type: str = ""
    part: bool = False
    doubtful: bool = False
