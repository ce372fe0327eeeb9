"""Predict the kind of answer that a question expects, in English and Chinese.

A multinomial logistic regression on hashed features of the question. They are its words or Chinese
characters, runs of two and three of them, the first and last ones, its form (the same with one sign
for each run of words of its topic), and cues: words that people use to ask for one kind of answer.
The weights ship with this package; see training/question_kinds/README.md.
"""

from __future__ import annotations

import unicodedata
import zlib
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._text.chinese import simplify
from knotwork.errors import ConfigError


class QuestionKind(StrEnum):
    """A kind of answer that a question expects."""

    VALUE = "value"
    """A fact: a name, a number, a date, a place, a default."""
    YES_NO = "yes_no"
    DEFINITION = "definition"
    """What something is, or what a term, option or sign means."""
    LIST = "list"
    STEPS = "steps"
    """What to do, or the stages in which something happens."""
    TABLE_ROWS = "table_rows"
    """Entries of a table."""
    CODE = "code"
    """Code, a command, a query, an example of a configuration."""
    REASON = "reason"
    COMPARISON = "comparison"
    SUMMARY_ONE = "summary_one"
    """What one document, chapter or thing is about."""
    SUMMARY_ALL = "summary_all"
    """What all documents are about."""
    COUNT = "count"
    """How many documents, or things in all documents, there are."""


KINDS = tuple(QuestionKind)
"""The kinds in the order of the columns of the weights."""


class _Weights(NamedTuple):
    """The weights of the features with a column for each kind, and those of the kinds alone.

    ``hashes`` has those of the names of the features, in order.
    """

    hashes: NDArray[np.uint32]
    features: NDArray[np.float32]
    biases: NDArray[np.float32]


def read_kinds(question: str) -> dict[QuestionKind, float]:
    """Return the probability of each kind, the most probable first.

    A question without letters and digits is one for a value.
    """
    hashes = hash_features(question)
    if not len(hashes):
        return {kind: float(kind is QuestionKind.VALUE) for kind in KINDS}
    weights = _read_weights()
    places = np.minimum(np.searchsorted(weights.hashes, hashes), len(weights.hashes) - 1)
    places = places[weights.hashes[places] == hashes]
    odds = weights.features[places].sum(axis=0) / max(len(places), 1) ** 0.5 + weights.biases
    powers = np.exp((odds - odds.max()).astype(np.float64))
    shares = (powers / powers.sum()).tolist()
    ranked = sorted(zip(KINDS, shares, strict=True), key=lambda pair: -pair[1])
    return dict(ranked)


def hash_features(question: str) -> NDArray[np.uint32]:
    """Return the hashes of the features that a question has, in order and each once."""
    hashes = sorted({zlib.crc32(name.encode()) for name in name_features(question)})
    return np.array(hashes, dtype=np.uint32)


@cache
def _read_weights() -> _Weights:
    """Return the weights that ship with this package.

    Raises ConfigError if they are of other kinds.
    """
    place = files("knotwork._questions").joinpath("kinds.npz")
    with place.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        hashes, steps, scales, biases = (
            file[name] for name in ("hashes", "steps", "scales", "biases")
        )
        names = tuple(file["kinds"].tolist())
    if steps.shape != (len(hashes), len(KINDS)) or names != KINDS:
        raise ConfigError(
            "The weights `kinds.npz` were trained on other kinds of questions.",
            fix="Train them again: see training/question_kinds/README.md.",
        )
    features = steps.astype(np.float32) * scales.astype(np.float32)
    return _Weights(hashes, np.ascontiguousarray(features), biases.astype(np.float32))


LONGEST = 200
"""How many characters are read of the start of a question, and as many of its end."""


def _words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_FRAME_WORDS = _words("""
    a about across all altogether am an and any apart are as at be been before being best better
    between both broadly brief briefly by can cause caused causes code come command common compare
    compared config contain count could default define definition describe did differ difference
    differences do documents does done down during each enough entire every example explain
    explained for from gist give go had has have how i if in into is it its kinds leads led list
    long made main make many may me mean meaning means meant might more most much must my name need
    no not number of off on once or order our out over overall overview per please procedure query
    reason reasons sample several shall should show snippet so some stand stages statement step
    steps stop sum summarise summarize summary table tell than that the their them themes there
    these they this those through to total two type types under up us used versus via vs walk was
    ways we were what whats when where whether which while who whom whose why will with without
    would write you your
    """)
"""Words that make the form of a question; all others count as its topic there."""

_FRAME_CHARACTERS = frozenset(
    "的是有什么怎样如何哪些几多少吗呢为谁个种和与跟还或比把给用从到在这那最每各第章节上里中所全部都"
    "总结概述括步骤方法流程原因由因区别差异代码命令示例语句意思含义定义指叫做不没能可会要应该请我你"
    "想知道说讲解释写列表行数量统计次份篇条张件本整体共同主题大致"
)
"""Chinese characters that make the form of a question."""

_TOPICS = {
    "code": _words("""
        api bash cli configuration config css csv curl cypher dockerfile docker expression formula
        function html java javascript json ldap latex macro makefile markup nginx php program
        pseudocode python regex request rust schema script scripts snippet snippets source sparql
        sql syntax template xml yaml
        """),
    "text": _words("""
        abstract agreement article book brochure chapter contract diary document essay file guide
        handbook interview introduction leaflet lecture letter manual minutes note notice novel page
        paper policy preface report review section story study summary text thesis tutorial
        """),
    "texts": _words("""
        agreements articles books brochures chapters contracts diaries docs documentation entries
        essays files folder guides handbooks interviews leaflets lectures letters manuals notes
        pages papers records reports reviews sections sources statements stories studies summaries
        texts archive collection library set
        """),
}
"""Words by the sign that stands for them in the form of a question."""

_ENDINGS = ("ing", "est", "er", "ly", "s")

_CLAUSE_ENDS = frozenset(".,;:!?。，；：！？、—–-\n")
_START, _END, _TOPIC = "^", "$", "_"

_CUES = {
    "compare": (
        " differ | differs | difference | differences | versus | vs | compare | compared |"
        " comparison | pros and cons | than | advantages | similarities | in common | unlike |"
        "区别|差异|差别|不同|对比|比较|还是|异同|优缺点|优点|利弊|相比|哪个更|不一样|差在|划算|谁更"
    ),
    "or": " or | and |与|和|跟|或",
    "whether": " whether |吗|是否|可否|能否|没有|行不行|有无",
    "define": (
        " define | definition | meaning | mean | means | meant | stand for | stands for | term |"
        " what is a | what is an | what are | what does |是什么意思|含义|定义|什么叫|"
        "何谓|何为|指的是|指什么|什么是|代表什么|是啥|干什么用|什么东西|有什么用|什么作用|缩写|所谓|解释"
    ),
    "list": (
        " list | enumerate | name all | name the | types of | kinds of | ways to | which ones |"
        "有哪些|哪些|列出|哪几|有什么|都有|列举|分别叫|种类|清单|都有谁|办法"
    ),
    "steps": (
        " how do i | how can i | how to | how do you | how should | steps | step | procedure |"
        " process | walk me | guide me | stages | phases | what order | sequence | what do i do |"
        " what should i do | what now | set up | setting up |怎么|怎样|如何|步骤|流程|怎么办|"
        "方法|做法|程序|手续|顺序|次序|阶段|教我|过程|咋办|操作"
    ),
    "table": (
        " table | row | rows | column | columns | chart | each | per | by |表里|表中|那行|那一行|"
        "各|每种|每个|分别是多少|一列|一览|按"
    ),
    "code": (
        " code | command | command line | script | snippet | query | statement | implemented |"
        " sample | example | config |代码|命令|语句|脚本|示例|样例|"
        "配置|查询|正则|公式|片段|实现|模板|报文"
    ),
    "reason": (
        " why | reason | reasons | cause | causes | caused | how come | rationale | what made |"
        " what led | behind | explains | grounds |为什么|为何|为啥|原因|理由|"
        "怎么回事|缘由|缘故|起因|成因|导致|引起|造成|因为什么|由于|动机|促使|出于"
    ),
    "summary": (
        " summary | summarize | summarise | sum up | overview | gist | outline | tl | recap |"
        " nutshell | brief | briefly | main points | key points | about | in general | in short |"
        " essence |总结|概括|概述|概览|大意|要点|摘要|归纳|讲了什么|讲的是|大致|"
        "综述|主要讲|概要|介绍"
    ),
    "all": (
        " all | every | entire | whole | everything | across | collection | overall | altogether |"
        " these |所有|全部|整体|总体|整个|这些|全套|整套|合起来|总览"
    ),
    "count": (
        " how many | number of | count | in how many | total |几份|几篇|多少份|多少篇|"
        "数量|统计|数一|一共|总共|总数|几个|几张|多少封|多少个|多少张|多少种"
    ),
    "quantity": (
        " how much | how long | how old | how far | how high | how big | how often | how fast |"
        " how heavy | amount | maximum | minimum | default |多少|多久|几|多大|多长|多高|多远|多深|"
        "默认|最多|最大|最少|最小"
    ),
    "name": (
        " who | whom | whose | where | when | in which | at what | name of | what time |"
        "谁|什么时候|哪里|哪儿|何时|哪年|哪天|哪个|哪一|叫什么|哪位"
    ),
}
"""What people say when they ask for something, by what that is; Latin words between spaces."""
_CUE_LISTS = {name: cues.split("|") for name, cues in _CUES.items()}

_CUE_COPIES = 3
"""How many features each cue is, so that it weighs more than one word."""

_OPENERS = tuple(
    tuple(opener.split(" "))
    for opener in (
        "please", "can you please", "could you please", "would you please", "can you", "could you",
        "would you", "will you", "would you mind", "i would like to know", "id like to know",
        "i want to know", "i wonder", "do you know", "do you happen to know", "请 问", "麻 烦",
        "我 想 知 道", "想 问 一 下", "能 不 能", "能", "可 以", "你 能", "你 可 以",
    )
)  # fmt: skip
"""Words with which people ask politely, before what they ask."""

_ASKED_ANYWAY = {"麻烦", "请问", "我想知道", "想问一下", "please"}
"""Openers after which any words may follow."""

_REQUESTS = _words("""
    tell telling show give explain list name describe summarize summarise outline compare walk
    define count write provide sketch what when where which who why how if whether find
    告 给 列 说 讲 解 总 概 比 数 教 描 介 把 帮
    """)
"""Words that follow an opener where it is one, by which "can you tell" is not "can you drive"."""

_ASKING_VERBS = _words("""
    am are is was were do does did can could may might must should will would has have had
    """)


def _drop_opener(clause: list[str]) -> list[str]:
    """Return a clause without the words that only make a request polite."""
    for opener in _OPENERS:
        rest = clause[len(opener) :]
        if tuple(clause[: len(opener)]) != opener or not rest:
            continue
        is_free = "".join(opener) in _ASKED_ANYWAY
        if is_free or rest[0] in _REQUESTS:
            return rest[:-1] if rest[-1] == "吗" and not is_free and len(rest) > 1 else rest
    return clause


def name_features(question: str) -> set[str]:
    """Return the names of the features that a question has."""
    clauses = [_drop_opener(clause) for clause in _split_clauses(question)]
    if not clauses:
        return set()
    units = [unit for clause in clauses for unit in clause]
    shares_of_han = sum(map(_is_han, units)) / len(units)
    language = "zh" if shares_of_han >= 0.3 else "en"
    features = {f"language {language}", f"length {language} {len(units).bit_length()}"}
    for number, clause in enumerate(clauses):
        is_last = number == len(clauses) - 1
        marked = [_START, *clause, _END]
        features.update(f"1 {unit}" for unit in clause)
        features.update(f"2 {one} {other}" for one, other in pairwise(marked))
        features.update(" ".join(("3", *marked[at : at + 3])) for at in range(len(marked) - 2))
        form = _form_of(marked)
        for size in (2, 3, 4, 5):
            features.update(
                " ".join(("form", *form[at : at + size])) for at in range(len(form) - size + 1)
            )
        if number == 0:
            features.update(f"first {' '.join(clause[:size])}" for size in (1, 2, 3))
        features.update(_name_asked(form))
        if is_last:
            features.update(f"last {' '.join(clause[-size:])}" for size in (1, 2, 3, 4))
            features.add(f"whole {' '.join(form)}")
    features.update(_name_cues(clauses))
    return features


def _name_asked(form: list[str]) -> set[str]:
    """Return the cue of whether English "what" and "which" ask for one thing or several."""
    nouns = {
        noun for word, noun in pairwise(form) if word in ("what", "which") and noun[0] == _TOPIC
    }
    found = {"several" if noun in (f"{_TOPIC}s", f"{_TOPIC}texts") else "one" for noun in nouns}
    return {f"cue {number} {name}" for name in found for number in range(_CUE_COPIES)}


def _name_cues(clauses: list[list[str]]) -> set[str]:
    """Return the features of the cues in a question."""
    text = "|".join(
        "".join(unit if _is_han(unit) else f" {unit} " for unit in clause).replace("  ", " ")
        for clause in clauses
    )
    found = {name for name, cues in _CUE_LISTS.items() if any(cue in text for cue in cues)}
    if any(clause[0] in _ASKING_VERBS for clause in clauses):
        found.add("verb first")
    if clauses[0][0] in _ASKING_VERBS and len(clauses) == 1:
        found.add("verb first of all")
    if any(text[at] in "不没" and text[at - 1] == text[at + 1] for at in range(1, len(text) - 1)):
        found.add("verb and its denial")
    return {f"cue {number} {name}" for name in found for number in range(_CUE_COPIES)}


def _form_of(marked: list[str]) -> list[str]:
    """Return the words that make the form of a clause, with one sign for each run of others.

    The sign is that of the last word of the run, which is the head of a noun phrase in English.
    """
    form: list[str] = []
    is_topic = False
    for unit in marked:
        sign = _sign_of(unit)
        if sign and is_topic:
            form.pop()
        is_topic = bool(sign)
        form.append(sign or unit)
    return form


@lru_cache(maxsize=4096)
def _sign_of(unit: str) -> str:
    """Return the sign for a word of the topic, or an empty text for a word of the form."""
    if unit in _FRAME_WORDS or unit in _FRAME_CHARACTERS or unit in (_START, _END):
        return ""
    if _is_han(unit):
        return _TOPIC
    if unit == "0":
        return f"{_TOPIC}0"
    for name, words in _TOPICS.items():
        if unit in words:
            return f"{_TOPIC}{name}"
    ending = next((one for one in _ENDINGS if unit.endswith(one) and len(unit) > 3), "")
    if ending == "s" and unit.endswith(("ss", "us", "is")):
        ending = ""
    return f"{_TOPIC}{ending}" if unit.isascii() else _TOPIC


def _split_clauses(question: str) -> list[list[str]]:
    """Return the words and Chinese characters of each clause; any number is "0"."""
    text = question
    if len(text) > 2 * LONGEST:
        text = f"{text[:LONGEST]}\n{text[-LONGEST:]}"
    text = simplify(unicodedata.normalize("NFKC", text).casefold())
    clauses: list[list[str]] = [[]]
    word = ""
    for character in f"{text}\n":
        if character in "'’" and word:
            continue
        if character.isalnum() and not _is_han(character):
            word += character
            continue
        if word and character != "_":
            clauses[-1].append("0" if word.isdecimal() else word)
            word = ""
        if _is_han(character):
            clauses[-1].append(character)
        elif character in _CLAUSE_ENDS and clauses[-1]:
            clauses.append([])
    return [clause for clause in clauses if clause]


def _is_han(unit: str) -> bool:
    """Return True for a Chinese character."""
    return len(unit) == 1 and ("\u3400" <= unit <= "\u9fff" or unit == "\u3007")
