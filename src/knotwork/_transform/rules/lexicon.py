"""The words of names: word lists, the tokenizer of the rules, and the types of names.

A type follows from the words in and around a name and from its form. A name without a cue has no
type. The module also reads the terms that a document defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from knotwork._text.languages import HAN_AND_KANA, word_list, word_set
from knotwork._text.names import STOP_NAMES, normal_form
from knotwork._text.sentences import split_sentences
from knotwork._text.visible import MARKS
from knotwork.records import BlockKind, Document, Span

STARTERS = STOP_NAMES | word_set("en", "starters")

PARTICLES = word_set("en", "particles")

JOINERS = word_set("en", "joiners") | PARTICLES

LOOSE_JOINERS = word_set("en", "loose_joiners")

CALENDAR = word_set("en", "calendar")

GENERIC_HEADS = word_set("en", "generic_heads")

NOBLE_TITLES = word_set("en", "noble_titles")

HONORIFICS = word_set("en", "honorifics")

PERSON_NOUNS = word_set("en", "person_nouns")

ORGANIZATION_ENDS = word_set("en", "organization_ends")
ORGANIZATION_HEADS = word_set("en", "organization_heads")
PLACE_ENDS = word_set("en", "place_ends")
PLACE_HEADS = word_set("en", "place_heads")
WORK_NOUNS = word_set("en", "work_nouns")
EVENT_ENDS = word_set("en", "event_ends")

PRONOUNS = word_set("en", "pronouns")

VERBS_OF_BEING = word_set("en", "verbs_of_being")


@cache
def common_words() -> frozenset[str]:
    """Return English words that hardly ever have a capital inside a sentence."""
    return word_set("en", "common")


@cache
def given_names() -> frozenset[str]:
    """Return given names in lower case."""
    return word_set("en", "given_names")


@cache
def place_names() -> frozenset[str]:
    """Return the normal forms of well-known places."""
    return frozenset(map(normal_form, word_list("en", "places")))


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


_NAME_WORD = re.compile(r"[\w.'’-]+")
_WORD_BEFORE = re.compile(r"([\w.]+),?\s+[\"“«'‘]?(?:the\s+|The\s+)?$")
_BORN = re.compile(
    r"\s*[(（][^()（）]{0,60}(?:born|died|(?P<from>\d{4})\s*[–—-]\s*(?:\w+\s+){0,2}(?P<to>\d{4}))"
)
_SHORTEST_LIFE = 15
"""Years; a shorter span is a career, an office or a series."""
_OF_MEMBERS = re.compile(r"[A-Z]{3,5}")
_TITLE_SUFFIX = re.compile(r"\(([^()]*)\)\s*$")
_INITIALS = re.compile(r"(?:[A-Z]\.\s?){1,3}[A-Z][\w'’-]+")


def name_type(name: str, form: str) -> str:
    """Return the type that follows from the words of a name, or ``""``."""
    if form in place_names():
        return "PLACE"
    words = _NAME_WORD.findall(name.lower())
    if words and words[0] in {"the", "a", "an"}:
        words = words[1:]
    if len(words) < 2:
        return "NATIONALITY" if form in _nationalities() else ""
    if words[0] in NOBLE_TITLES and words[1] == "of":
        return "PERSON"
    if "of" in words[1:]:
        head = words[words.index("of", 1) - 1]
        return _type_of_end(head, ORGANIZATION_HEADS, PLACE_HEADS) or _person_type(words)
    if words[-1] in EVENT_ENDS or (words[-2] in EVENT_ENDS and not words[-1].strip("ivx")):
        return "EVENT"
    kind = _type_of_end(words[-1], ORGANIZATION_ENDS, PLACE_ENDS)
    if not kind and words[0] in PLACE_HEADS and len(words) == 2:
        kind = "PLACE"
    return kind or _person_type(words) or ("PERSON" if _INITIALS.fullmatch(name) else "")


@cache
def _nationalities() -> frozenset[str]:
    return word_set("en", "nationalities")


def _type_of_end(word: str, organizations: frozenset[str], places: frozenset[str]) -> str:
    if word in organizations:
        return "ORGANIZATION"
    return "PLACE" if word in places else ""


def _person_type(words: list[str]) -> str:
    if words[0] in HONORIFICS and words[1] not in common_words() and words[1] != "of":
        return "PERSON"
    plain = [word for word in words if len(word.rstrip(".")) > 1]
    if not 2 <= len(words) <= 4 or len(plain) < 2 or plain[0] not in given_names():
        return ""
    if plain[-1] in common_words() or not plain[-1].rstrip(".").replace("-", "").isalpha():
        return ""
    return "" if {"and", "the", "in", "for", "at"} & set(words) else "PERSON"


_DEFINED = re.compile(
    r"(?:[\"”’']|\s?\([^()]{0,200}\))*,?\s(?:is|was|are|were) (?:also )?(?:an?|the|one of the)\s"
    r"(?P<phrase>[\w'’/–-]+(?:[ -]+[\w'’/–-]+){0,7})"
    r"|,\s(?:an?|the)\s(?P<apposed>[\w'’-]+(?: [\w'’-]+){0,4})"
)
_NOUN_ENDS = re.compile(
    r"\s(?:of|in|on|at|for|from|by|to|with|about|or|which|who|that|as|where|created|located|based"
    r"|directed|founded|published|known|written|produced|developed|set|used|built|born)\b.*"
)


def defining_noun(text: str, end: int) -> str:
    """Return the noun of "is a river in", "was an American actor" behind a name; or ""."""
    match = _DEFINED.match(text, end)
    if match is None:
        return ""
    phrase = _NOUN_ENDS.sub("", match["phrase"] or match["apposed"])
    parts = [re.split("[ -]+", part.lower()) for part in phrase.split(" and ")]
    heads = [word for part in reversed(parts) for word in reversed(part[-2:])]
    noun = next(filter(type_of_noun, heads), parts[-1][-1])
    return noun if match["phrase"] or type_of_noun(noun) else ""


def type_of_noun(noun: str) -> str:
    """Return the type of what a noun names: PERSON of "actor"; or ""."""
    return _types_of_nouns().get(noun, "")


@cache
def _types_of_nouns() -> dict[str, str]:
    types = dict.fromkeys(PLACE_ENDS | PLACE_HEADS | word_set("en", "place_kinds"), "PLACE")
    types.update(
        dict.fromkeys(ORGANIZATION_ENDS | word_set("en", "organization_kinds"), "ORGANIZATION")
    )
    types.update(dict.fromkeys(EVENT_ENDS, "EVENT"))
    types.update(dict.fromkeys(word_set("en", "product_kinds"), "PRODUCT"))
    types.update(dict.fromkeys(WORK_NOUNS | word_set("en", "work_kinds"), "WORK"))
    persons = PERSON_NOUNS | word_set("en", "person_kinds")
    types.update(dict.fromkeys(persons, "PERSON"))
    return types


def context_type(text: str, start: int, end: int) -> str:  # noqa: PLR0911  one for each cue
    """Return the type that follows from the words around ``text[start:end]``, or ``""``."""
    life = _BORN.match(text, end)
    if life and (not life["from"] or int(life["to"]) - int(life["from"]) >= _SHORTEST_LIFE):
        return "PERSON"
    before = text[max(0, start - 40) : start]
    if _OF_MEMBERS.fullmatch(text, start, end) and before[-4:].lower() == "the ":
        return "ORGANIZATION"
    match = _WORD_BEFORE.search(before)
    if match is None:
        return ""
    noun = match[1].lower()
    quoted = before[-1] in '"“‘«'
    several = " " in text[start:end]
    if noun in WORK_NOUNS and (quoted or several):
        return "WORK"
    if quoted:
        return ""
    if several and noun in PERSON_NOUNS:
        return "PERSON"
    return "PERSON" if noun in HONORIFICS and noun.endswith(".") else ""


_TECHNICAL = re.compile(
    r"[A-Z]{2,}\d*|\d+[A-Z]{1,2}\+?|[A-Za-z]+-?\d[\w.]*|[A-Z][a-z]+[A-Z]\w*", re.ASCII
)


def shape_type(name: str, *, in_chinese: bool) -> str:
    """Return TERM for a technical name by its spelling (Text2Cypher, LlamaIndex, GPU), PERSON for
    a given name alone; or "". An acronym is certainly technical only in a Chinese sentence.
    """
    words = name.split()
    if all(_TECHNICAL.fullmatch(word) for word in words):
        return "" if name.isalpha() and name.isupper() and not in_chinese else "TERM"
    return "PERSON" if name.istitle() and name.lower() in given_names() else ""


def title_type(title: str) -> str:
    """Return the type in the suffix of a title, as in "(film)" or "(1961 novel)"; or ""."""
    match = _TITLE_SUFFIX.search(title)
    if match is None:
        return ""
    words = match[1].lower().split()
    if words and words[-1] in WORK_NOUNS:
        return "WORK"
    if words and (words[-1] in PERSON_NOUNS or match[1].lower().startswith("born")):
        return "PERSON"
    return "PLACE" if words and words[-1] in PLACE_ENDS else ""


ADDRESS = "URL"
"""The type of web and mail addresses, which are never shown as entities."""

IDENTIFIER = "IDENTIFIER"
"""The type of a name in code style without a more specific type."""

_ADDRESS = re.compile(r"https?://|www\.|[^\s@]+@[\w-]+\.", re.IGNORECASE)
_OPTION = re.compile(r"--?[A-Za-z?][\w-]*(?:[= ].*)?")
_FUNCTION = re.compile(r"[A-Za-z_][\w.:]*\(.*\)")
_FILE = re.compile(
    r"(?:~|\.{0,2})/.*|[\w.-]+\.(?:py|js|ts|md|json|toml|ya?ml|txt|csv|sh|cpp|java|go|rs|sql|html|xml"
    r"|ini|cfg|conf|cnf|exe|dll|log|pdf|docx|xlsx|deb|rpm|gz|xz|zip|service|list)"
)
_COMMAND_WORDS = word_set("en", "sql_commands")
_SETTING_LABEL = re.compile(
    r"([A-Za-z_][\w.]*) \((?:boolean|bool|integer|int|string|enum|floating point|float|real|text"
    r"|list|number|duration|size)\)"
)
_KIND_NOUNS = {
    "SETTING": "parameter setting variable directive 参数 变量 配置项 设置 指令",
    "COMMAND": "command utility program tool executable script statement 命令 工具 程序 脚本 语句",
    "OPTION": "option switch flag 选项 开关",
    "FUNCTION": "function method macro 函数 方法",
    "FILE": "file directory folder 文件 目录 文件夹 档案",
    "TABLE": "table view catalog 表 视图",
    "COLUMN": "column field 列 字段",
    "PACKAGE": "package library module 软件包 套件 包 库 模块",
    "SERVICE": "daemon service server 服务 守护进程 服务器",
}
_KIND_OF_NOUN = {noun: kind for kind, nouns in _KIND_NOUNS.items() for noun in nouns.split()}
_NOUN_BEHIND = re.compile(r"[`'’”\"]?\s+(?:(?:configuration|system|data|shell)\s+)?([a-z]+)\b")
_NOUN_BEFORE = re.compile(r"\b([a-z]+)\s+[`'‘“\"]?$")
_HAN_NOUNS = sorted((n for n in _KIND_OF_NOUN if not n.isascii()), key=len, reverse=True)
_HAN_NOUN_BEHIND = re.compile(rf'[`”」"]?\s?({"|".join(_HAN_NOUNS)})')
_PARTS = frozenset({"OPTION", "TERM", IDENTIFIER})
_SENTENCE_SIGNS = re.compile(r"[.!?;:,。！？；：，](?:\s|$)")
_LONGEST_TERM = 40
_LONGEST_TERM_WORDS = 4
_LONGEST_DEFINITION = 300
_LOOK_BACK = 300
_MANUAL_PAGE = re.compile(
    r"\s*(?P<name>[\w.+-]+(?: [A-Z]+)*)\s+[—–-]{1,2}\s+(?P<says>\w[^\n]{3,200})"
)


class Definition(NamedTuple):
    """A term that a document defines, with the spans of term and definition and its text."""

    name: str
    type: str
    term: Span
    span: Span
    text: str
    whole: str = ""
    """The command of the page, if the term is one of its options or parameters."""

    @property
    def form(self) -> str:
        return normal_form(self.name)


def technical_type(name: str) -> str:
    """Return the type that follows from the form of a technical name; IDENTIFIER by default."""
    if _ADDRESS.match(name):
        return ADDRESS
    if _OPTION.fullmatch(name):
        return "OPTION"
    if _FUNCTION.fullmatch(name):
        return "FUNCTION"
    return "FILE" if _FILE.fullmatch(name) else IDENTIFIER


def is_command(name: str) -> bool:
    """Return True if a name is an SQL command as manuals write it: CREATE INDEX, VACUUM."""
    return name.isupper() and name.split(maxsplit=1)[0] in _COMMAND_WORDS


def looks_technical(word: str) -> bool:
    """Return True if a word is not spelt like prose: CamelCase, ext4, a_name."""
    inner = word[1:]
    return "_" in inner or (
        not word.isupper() and any(c.isupper() for c in inner) and not re.search(r"[-'’.&/]", word)
    )


def noun_type(text: str, start: int, end: int) -> str:
    """Return the type in a noun beside ``text[start:end]``: "the wal_level parameter"; or ""."""
    behind = _NOUN_BEHIND.match(text, end)
    if behind is not None and behind[1] in _KIND_OF_NOUN:
        return _KIND_OF_NOUN[behind[1]]
    han = _HAN_NOUN_BEHIND.match(text, end)
    if han is not None:
        return _KIND_OF_NOUN[han[1]]
    before = _NOUN_BEFORE.search(text, max(0, start - _LONGEST_TERM), start)
    return _KIND_OF_NOUN.get(before[1], "") if before is not None else ""


_DEFINING = (BlockKind.DEFINITION, BlockKind.ITEM)
_LONGEST_MARK = 8
"""Most characters before the term in its block: the mark of an item, or of bold text."""
_BEFORE_BODY = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+|\*\*[^\n]+\*\*[ \t]*\n\s*")
"""The mark of an item, or the line of a term."""


def _body_of(text: str, span: Span) -> Span:
    found = _BEFORE_BODY.match(text, span.start, span.end)
    return span if found is None else Span(found.end(), span.end)


def read_definitions(document: Document) -> list[Definition]:
    """Return the terms of a document's definition lists, and the command of a manual page."""
    found = list(_page_definition(document))
    page = found[0].name if found else ""
    for block in document.blocks:
        if not block.label or block.kind not in _DEFINING:
            continue
        body = _body_of(document.text, block.span)
        said = _first_sentences(document.text, body)
        position = max(0, block.span.start - _LOOK_BACK)
        for label in block.label.split(", "):
            name, kind = _defined_term(label.strip())
            last = block.span.start + len(block.label) + _LONGEST_MARK
            start = document.text.rfind(label.strip(), position, last)
            if name and start >= 0 and said:
                term = Span(start, start + len(name))
                whole = page if kind in _PARTS else ""
                found.append(Definition(name, kind, term, body, said, whole))
    return found


def _page_definition(document: Document) -> Iterator[Definition]:
    """Yield the command of a manual page: "pg_dump — extract a database into a script file"."""
    title = document.title.strip()
    start = document.text.find(f"{title} ") if title and len(title) <= _LONGEST_TERM else -1
    match = _MANUAL_PAGE.match(document.text, start) if 0 <= start < _LOOK_BACK else None
    if match is not None and match["name"] == title:
        text = " ".join(match["says"].split())
        yield Definition(title, "COMMAND", Span(*match.span("name")), Span(*match.span()), text)


def _defined_term(label: str) -> tuple[str, str]:
    setting = _SETTING_LABEL.fullmatch(label)
    if setting is not None:
        return setting[1], "SETTING"
    if not 1 < len(label) <= _LONGEST_TERM or _SENTENCE_SIGNS.search(label):
        return "", ""
    kind = technical_type(label)
    if kind == IDENTIFIER:
        kind = _kind_of_words(label)
    return (label, kind) if kind not in {"", ADDRESS} else ("", "")


def _kind_of_words(label: str) -> str:
    """Return the type of a term that is not in code style, or "" if it is not a term."""
    words = label.split()
    if is_command(label):
        return "COMMAND"
    if "_" in label and len(words) == 1:
        return IDENTIFIER
    plain = (
        words[0].lower() in STARTERS
        or label.lower() in common_words()
        or len(words) > _LONGEST_TERM_WORDS
    )
    return "" if plain or not any(c.isalpha() for c in label) else "TERM"


def _first_sentences(text: str, span: Span) -> str:
    kept = ""
    for sentence in split_sentences(text[span.start : min(span.end, span.start + 1_000)]):
        said = " ".join(text[span.start + sentence.start : span.start + sentence.end].split())
        if kept and len(kept) + len(said) >= _LONGEST_DEFINITION:
            break
        kept = f"{kept} {said}".strip()
        if len(kept) >= _LONGEST_DEFINITION // 2:
            break
    return kept[:_LONGEST_DEFINITION]
