"""True statements about passages, made of questions and their answers, and false ones made of them.

"Who founded Acme?" with the answer "Ina Berg" becomes "Ina Berg founded Acme."; Chinese asks in
place, so that the interrogative is replaced. The wording is that of the people who asked, not that
of the passage. A false statement differs from a true one in a number, a name, a negation, or the
order of its two names.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from knotwork._text.languages import segment

QUOTES = Path(__file__).resolve().parents[2] / "training" / "reader" / "questions"
"""Questions about manuals, with what answers them quoted."""


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its answer, and the passage that holds it.

    ``key`` is the identifier in its data set, or of a manual the question.
    """

    question: str
    answer: str
    passage: str
    title: str
    language: str
    key: str = ""


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of ``train/``, or of a folder of ``bench/qa/``."""
    if path.is_dir():
        lines = (path / "corpus.jsonl").read_text("utf-8").splitlines()
        corpus = {row["pid"]: row for row in map(json.loads, lines)}
        for line in (path / "questions.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            held = corpus[row["gold_pids"][0]]
            language = "zh" if re.search("[\u4e00-\u9fff]", row["question"]) else "en"
            title = held.get("title", "")
            yield Row(row["question"], row["answers"][0], held["text"], title, language)
        return
    with gzip.open(path, "rt", encoding="utf-8") as opened:
        for row in map(json.loads, opened):
            answer = row["answers"][0]["text"] if row["kind"] == "span" and row["answers"] else ""
            yield Row(row["question"], answer, row["context"], row["title"], row["lang"], row["id"])


def read_passages(folder: Path) -> Iterator[Row]:
    """Yield the passages of a folder of ``bench/qa/`` without questions."""
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Row("", "", row["text"], row.get("title", ""), _language_of(row["text"]))


def read_quotes(path: Path) -> Iterator[Row]:
    """Yield what is quoted of a manual: for each question alone, and all quotes of a page."""
    pages: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        quotes = [" ".join(quote.split()) for quote in row["quotes"]]
        pages.setdefault(row["page"], []).extend(quotes)
        if quotes:
            text = "\n\n".join(quotes)
            asked = row["question"]
            yield Row(asked, row["answer"], text, row["page"], _language_of(text), asked)
    for page, quotes in pages.items():
        text = "\n\n".join(dict.fromkeys(quotes))
        yield Row("", "", text, page, _language_of(text))


def _language_of(text: str) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


KINDS = ("number", "name", "negation", "roles")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, its passage, the question, and the kind of its error ("" for a true one).

    ``origin`` is the text of the true statement that a false one is made of.
    """

    text: str
    passage: str
    title: str
    question: str
    language: str
    answer: str
    error: str = ""
    origin: str = ""


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])|(?<=[。！？])\s*")
_TAIL_EN = re.compile(r",? (?:which|who|where|although|while|whereas|because)\b.*")
_LEAD_EN = re.compile(
    r"^(?:However|Moreover|Furthermore|Therefore|In addition|For example|Thus), (\w)"
)
_REFERS = re.compile(
    r"^(?:It|He|She|They|This|These|Those|That|Its|His|Her|Their)\b|^[它他她这這该該其此]"
)


@cache
def rows_by_key(path: Path) -> dict[str, Row]:
    """Return the rows of a file of ``train/``, or of the questions about a manual, by their key."""
    read = read_rows if path.suffix == ".gz" else read_quotes
    return {row.key: row for row in read(path)}


def state(row: Row, text: str) -> Statement:
    """Return a true statement about the passage of a row."""
    language = _language_of(text)
    return Statement(text, row.passage, row.title, row.question, language, row.answer)


def read_sentences(rows: Iterable[Row], *, every: int) -> Iterator[Statement]:
    """Yield sentences of every n-th passage, without their openings and subordinate ends.

    A sentence stands for an answer that keeps to the words of its source.
    """
    passages = {row.passage: row for row in rows}
    for row in list(passages.values())[::every]:
        for sentence in _SENTENCE_END.split(row.passage):
            text = " ".join(sentence.split())
            if row.language == "en":
                text = _LEAD_EN.sub(lambda m: m[1].upper(), text)
                text = _TAIL_EN.sub("", text).rstrip(".") + "."
                fits = 8 <= len(text.split()) <= 30
            else:
                fits = 15 <= len(text) <= 60
            if fits and not _REFERS.match(text) and '"' not in text:
                yield Statement(text, row.passage, row.title, "", row.language, "")


_BE = "is|are|was|were|has|had|have|can|could|will|would|may|must"
_SUBJECT_EN = re.compile(
    r"^(?:who|what|which)\s+(?!do\b|does\b|did\b|kinds?\b|types?\b|sort\b)(?P<rest>\w+\s.+)$",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(rf"^(?:{_BE})\b", re.IGNORECASE)
_VERB = re.compile(
    r"^(?:\w+ed|\w+s|won|led|made|wrote|built|held|became|gave|took|began|sold)\s", re.IGNORECASE
)
_COUNT_EN = re.compile(rf"^how many (?P<rest>[\w ]+? (?:{_BE})\b.+)$", re.IGNORECASE)
_WHEN_EN = re.compile(
    r"^when (?P<be>was|were) (?P<what>.+?) (?P<verb>\w+ed|built|born|held|made|written|begun|won)"
    r"(?P<rest>\b.*)$",
    re.IGNORECASE,
)
_IN_PLACE_ZH = re.compile(
    "哪一?[个個座位]?(?:国家|國家|城市|人物|人|地方|年份|年|里|裡|位|省|大学|大學|公司|机构|语言)|何处|何處|何时|何時|何年|什么时候|什麼時候|谁|誰|"
    "什么|什麼|多少"
)
_NOT_FACTS_ZH = re.compile("为什么|為什麼|怎么|怎麼|如何|什么样|什麼樣|哪些|是否")


def read_statements(rows: Iterable[Row]) -> Iterator[Statement]:
    """Yield the true statements that can be made of questions and their answers."""
    for row in rows:
        answer = row.answer.strip(" .。")
        declare = _declare_zh if row.language == "zh" else _declare_en
        if answer and (text := declare(row.question.strip(), answer)):
            yield Statement(text, row.passage, row.title, row.question, row.language, answer)


def _declare_en(question: str, answer: str) -> str:
    bare = question.rstrip("? ")
    if len(answer.split()) > 8 or "?" in bare:
        return ""
    if match := _WHEN_EN.match(bare):
        if not re.search(r"\d{4}$", answer):
            return ""
        place = "on" if re.match(r"\w+ \d+,|\d+ \w+ ", answer) else "in"
        answer = re.sub(r"^(?:in|on) ", "", answer)
        what = match["what"][0].upper() + match["what"][1:]
        return f"{what} {match['be']} {match['verb']}{match['rest']} {place} {answer}."
    if match := _COUNT_EN.match(bare):
        return f"{answer} {match['rest']}." if re.fullmatch(r"[\d,.]+", answer) else ""
    if match := _SUBJECT_EN.match(bare):
        rest = match["rest"]
        if _AUXILIARY.match(rest) or (bare.lower().startswith("who") and _VERB.match(rest)):
            return f"{answer[0].upper()}{answer[1:]} {rest}."
    return ""


def _declare_zh(question: str, answer: str) -> str:
    bare = question.rstrip("?？ ")
    found = list(_IN_PLACE_ZH.finditer(bare))
    if len(found) != 1 or _NOT_FACTS_ZH.search(bare) or len(answer) > 20 or "？" in bare:
        return ""
    (match,) = found
    rest = bare[match.end() :]
    if match[0] == "多少":
        if not re.match(r"[\d,.]+", answer):
            return ""
        while rest and answer.endswith(rest[0]):
            rest = rest[1:]
    return f"{bare[: match.start()]}{answer}{rest}。"


_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w.,]?\d)")
_NAME_EN = re.compile(r"\b[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*\b")
_NEGATE_EN = re.compile(r"\b(is|are|was|were|has|had|have|can|could|will|would|may|must)\b(?! not)")
_NEGATE_ZH = re.compile("(?<![不没])(是|能|会|可以|位于|位於|属于|屬於|获得|獲得|担任|擔任)(?!否)")
_DENIED_EN = re.compile(
    r"\b(is|are|was|were|has|had|have|can|could|will|would|may|must|did|does|do) not\b|\bcannot\b"
)
_DENIED_ZH = re.compile("不(?=是|能|会|會|可以|需|应|應)|没(?=有)|沒(?=有)")


def make_false(
    true: Sequence[Statement], names: Sequence[str], *, seed: int
) -> dict[str, list[Statement]]:
    """Return false statements by kind; each is made of one true statement.

    ``names`` are those that are put in place of others, of the language of the statements.
    """
    chance = random.Random(seed)
    makers = {
        "number": lambda s: _change_number(s, chance),
        "name": lambda s: _change_name(s, names, chance),
        "negation": _negate,
        "roles": _swap_roles,
    }
    found: dict[str, list[Statement]] = {kind: [] for kind in KINDS}
    for statement in true:
        for kind in KINDS:
            text = makers[kind](statement)
            if text and text != statement.text:
                changed = replace(statement, text=text, error=kind, origin=statement.text)
                found[kind].append(changed)
    return found


def _change_number(statement: Statement, chance: random.Random) -> str:
    """Replace a number by one that is near, or by another of the passage."""
    found = _NUMBER.findall(statement.answer or statement.text)
    found = [n for n in found if statement.text.count(n) == 1]
    if not found:
        return ""
    value = chance.choice(found)
    others = [
        n
        for n in _NUMBER.findall(statement.passage)
        if n != value and len(n) == len(value) and n not in statement.text
    ]
    if others and chance.random() < 0.5:
        other = chance.choice(others)
    else:
        place = chance.choice([i for i, c in enumerate(value) if c.isdigit()])
        digit = str((int(value[place]) + chance.randint(1, 8)) % 9 + 1)
        other = value[:place] + digit + value[place + 1 :]
    return "" if other == value else statement.text.replace(value, other)


def _change_name(statement: Statement, names: Sequence[str], chance: random.Random) -> str:
    """Replace a name by another name, of the passage or not, that its sentence does not have."""
    own = names_of(statement.answer or statement.text, statement.language)
    if statement.answer and own != [statement.answer]:
        return ""
    own = [n for n in own if statement.text.count(n) == 1]
    if not own:
        return ""
    name = chance.choice(own)
    around = _sentence_with(statement.passage, name)
    near = [n for n in names_of(statement.passage, statement.language) if n not in around]
    known = f"{statement.passage} {statement.question} {statement.title}"
    far = [n for n in names if n not in known]
    if not far:
        return ""
    other = chance.choice(near if near and chance.random() < 0.5 else far)
    if other in statement.text or name in other:
        return ""
    return statement.text.replace(name, other)


def _negate(statement: Statement) -> str:
    """Add a negation, or remove the only one."""
    if statement.language == "en":
        if re.search(r"\b(?:not|no|never|without|nor|neither|cannot)\b|n't", statement.text):
            found = _DENIED_EN.findall(statement.text)
            if len(found) != 1 or re.search(r"\b(?:no|never|without|nor)\b|n't", statement.text):
                return ""
            return _DENIED_EN.sub(lambda m: m[1] or "can", statement.text)
        return _NEGATE_EN.sub(r"\1 not", statement.text, count=1)
    if re.search("[不没沒無无未非]", statement.text):
        if len(re.findall("[不没沒無无未非]", statement.text)) > 1:
            return ""
        return _DENIED_ZH.sub("", statement.text)
    return _NEGATE_ZH.sub(
        lambda m: ("没有" if m[1][0] in "获獲担擔" else "不") + m[1], statement.text, count=1
    )


def _swap_roles(statement: Statement) -> str:
    """Swap two names on both sides of a verb, as in "Acme founded Ina Berg"."""
    text, answer = statement.text, statement.answer
    found = [n for n in names_of(text, statement.language) if text.count(n) == 1]
    if answer and answer not in found:
        return ""
    found.sort(key=text.index)
    verb = r"\b[a-z]{4,}" if statement.language == "en" else r"[\u4e00-\u9fff]{2,}"
    for first, second in pairwise(found):
        if answer and answer not in (first, second):
            continue
        between = text[text.index(first) + len(first) : text.index(second)]
        if not re.search(verb, between) or _JOINED.search(between):
            continue
        if second in statement.passage and first in statement.passage:
            return text.replace(first, "\0").replace(second, first).replace("\0", second)
    return ""


_NAMED = r"(?:[Tt]he )?[A-Z][\w'’-]+(?:(?: of| the| de| von| van)? [A-Z][\w'’-]+)*"
_PARTICIPLES = {
    "wrote": "written", "took": "taken", "gave": "given", "beat": "beaten", "began": "begun",
    "drew": "drawn", "saw": "seen", "sang": "sung", "threw": "thrown", "won": "won", "led": "led",
    "built": "built", "made": "made", "held": "held", "sold": "sold", "bought": "bought",
}  # fmt: skip
_PAST = {participle: past for past, participle in _PARTICIPLES.items()}
_VERB_EN = rf"(?P<verb>[a-z]+ed|{'|'.join(_PARTICIPLES)})"
_ACTIVE_EN = (
    re.compile(rf"\b(?P<agent>{_NAMED}) {_VERB_EN} (?P<other>{_NAMED})"),
    # "Acme, a maker of pumps, bought Bolt Systems"
    re.compile(
        rf"\b(?P<agent>{_NAMED}), (?:which|who|an?|the|then|also|formerly)\b[^,.;]{{3,60}},"
        rf" {_VERB_EN} (?P<other>{_NAMED})"
    ),
    # "Acme, which Ina Berg founded"
    re.compile(rf"\b(?P<other>{_NAMED}),? (?:which|that|whom) (?P<agent>{_NAMED}) {_VERB_EN}\b"),
)
_BE_EN = "(?:,? (?:(?:which|who) )?(?:was|were)|,)?"
_PASSIVE_EN = re.compile(
    rf"\b(?P<other>{_NAMED}){_BE_EN} (?P<verb>[a-z]+ed|{'|'.join(_PAST)}) by (?P<agent>{_NAMED})"
)
_MUTUAL = ("married", "divorced", "met", "faced", "resembled", "matched", "joined")
_AGENT_ZH = re.compile("[被由]")


def read_clauses(rows: Iterable[Row]) -> Iterator[tuple[Statement, Statement]]:
    """Yield who did what to whom as statements in both voices, each with a false one.

    "Ina Berg founded Acme" in a passage becomes itself and "Acme was founded by Ina Berg"; in the
    false ones the names are swapped.
    """
    passages = {row.passage: row for row in rows}
    for row in passages.values():
        is_chinese = row.language == "zh"
        for sentence in _SENTENCE_END.split(row.passage):
            text = " ".join(sentence.split())
            for agent, verb, other in _clauses_zh(text) if is_chinese else _clauses_en(text):
                voices = _voices_zh(verb) if is_chinese else _voices_en(verb)
                for voice in voices:
                    said, swapped = voice(agent, other), voice(other, agent)
                    true = Statement(said, row.passage, row.title, "", row.language, "")
                    yield true, replace(true, text=swapped, error="roles", origin=said)


_Voice = Callable[[str, str], str]


def _voices_en(verb: str) -> tuple[_Voice, _Voice]:
    participle = _PARTICIPLES.get(verb, verb)

    def capital(text: str) -> str:
        return text[0].upper() + text[1:]

    return (
        lambda agent, other: capital(f"{agent} {verb} {other}."),
        lambda agent, other: capital(f"{other} was {participle} by {agent}."),
    )


def _voices_zh(verb: str) -> tuple[_Voice, _Voice]:
    return (
        lambda agent, other: f"{agent}{verb}了{other}。",
        lambda agent, other: f"{other}被{agent}{verb}。",
    )


def _clauses_en(sentence: str) -> Iterator[tuple[str, str, str]]:
    """Yield who, the verb in the past tense, and whom."""
    found = [
        (match["agent"], match["verb"], match["other"])
        for pattern in _ACTIVE_EN
        for match in pattern.finditer(sentence)
    ]
    found += [
        (match["agent"], _PAST.get(match["verb"], match["verb"]), match["other"])
        for match in _PASSIVE_EN.finditer(sentence)
    ]
    for agent, verb, other in found:
        if verb not in _MUTUAL and not any(
            name in _NO_NAMES or _REFERS.match(name) for name in (agent, other)
        ):
            yield agent, verb, other


def _clauses_zh(sentence: str) -> Iterator[tuple[str, str, str]]:
    words = [word for word in segment(sentence) if word.text != "了"]
    is_name = [word.tag[:2] in _TAGS_ZH and len(word.text) > 1 for word in words]
    is_verb = [word.tag == "v" and len(word.text) == 2 for word in words]
    for place in range(len(words) - 2):
        one, two, three = (word.text for word in words[place : place + 3])
        if not is_name[place] or not is_name[place + 2]:
            continue
        if is_verb[place + 1]:
            yield one, two, three
        elif _AGENT_ZH.fullmatch(two) and is_verb[place + 3 : place + 4] == [True]:
            yield three, words[place + 3].text, one


_JOINED = re.compile(r"[,;，；、]|\b(?:and|with|or|to|as well)\b|[和與与及]")
_TAGS_ZH = ("nr", "ns", "nt", "nz")


def names_of(text: str, language: str) -> list[str]:
    """Return the names in a text, in order, without repetitions."""
    if language == "en":
        found = [
            m[0]
            for m in _NAME_EN.finditer(text)
            if " " in m[0]
            or (m.start() and text[m.start() - 2 : m.start()] not in (". ", '" ', "? "))
        ]
        return list(dict.fromkeys(n for n in found if n not in _NO_NAMES))
    if len(text) <= 8 and re.fullmatch(
        r"[\u4e00-\u9fff]{1,5}(?:[·・．][\u4e00-\u9fff]{1,6})+", text
    ):
        return [text]
    words = [w for w in segment(text) if w.tag[:2] in _TAGS_ZH and len(w.text) > 1]
    return list(dict.fromkeys(word.text for word in words))


_NO_NAMES = frozenset(
    [
        "The",
        "This",
        "That",
        "These",
        "Those",
        "There",
        "They",
        "When",
        "Where",
        "What",
        "Who",
        "Which",
        "While",
        "With",
        "After",
        "Before",
        "During",
        "For",
        "From",
        "His",
        "Her",
        "Its",
        "And",
        "But",
        "Although",
        "However",
        "Since",
        "Because",
        "Both",
        "Many",
        "Most",
        "Some",
        "Other",
        "Also",
        "In",
        "On",
        "At",
        "As",
        "By",
        "An",
        "Another",
        "Such",
        "Under",
        "Over",
        "Between",
    ]
)


def _sentence_with(passage: str, words: str) -> str:
    return next((s for s in _SENTENCE_END.split(passage) if words in s), passage)
