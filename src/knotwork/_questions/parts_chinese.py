"""Divide Chinese questions: clauses that each ask, "A 和 B 分别", comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from knotwork._questions.languages import DividedQuestion, SubQuestion
from knotwork._text.chinese import simplify

_LONGEST_NAME = 20
"""The maximum number of characters of one of several names in a question."""
_MOST_LEANING = 8
"""A question of at most so many characters may lean on the one before it."""

# Patterns match simplified characters; converting a text keeps all offsets.
_ASKING = (
    r"(?:谁|什么|甚么|啥|哪(?!怕)|多少|何(?!况)|怎么?样?|如何|为什么|第几"
    r"|(?<![好十百千上数无])几(?=[个位天年次种条步级台份款名项月周家座人岁届点类只张块倍])"
    r"|多[长久大高远快重宽深])"
)
_ASKS = re.compile(_ASKING)
_OPENS = re.compile(rf"(?:是|由|在|从|被|有|用|为)?{_ASKING}")
_CLOSES = re.compile(rf"{_ASKING}[^，,；;]{{0,6}}$")
_NO_QUESTION = re.compile(
    r"不管|无论|不论|任何|没什么|什么都|谁都|哪[个里]都|怎么都|知道|看看|如果|要是|假如|的话"
)
_GAP = re.compile(r"[，,；;]\s*(?:以及|并且|而且|还有|另外|而|又|并)?\s*")
_SENTENCE_END = re.compile(r"(?<=[。！？?!])(?![」』”’）)》])\s*")
_QUOTED = re.compile(r"「[^」]*」|『[^』]*』|“[^”]*”|‘[^’]*’|《[^》]*》|\"[^\"]*\"")
_END_MARKS = " 。！？?!.，,；;"
_POINTS_BACK = re.compile(
    r"它|[他她](?!人)|其(?![他它她余中实])|该(?!如何|怎)|此(?!外)|这|那(?!么)|两者|二者|前者|后者"
    r"|两国|哪[种个]的"
)
_SAYS_NOTHING = re.compile(rf"[各每].*|{_ASKING}|[是有在由用为从被的了呢]")
_FEWEST_OF_ITS_OWN = 2
"""Characters beside these in a short question that names what it is about."""
_OWN_NAME = re.compile(r"[A-Za-z0-9《“「『]")

_EACH = re.compile(r"(?<!的)[，,]?\s*(?<!的)(?:分别|各自|各(?=[有是需指占用为在由]))")
_AND = re.compile(r"\s*(?:以及|和(?![平谐睦解好气])|(?<![参给赋授])与(?!其)|跟)\s*")
_NOT_AND = re.compile(r"[共总饱温柔调缓]$")
_BOUNDARY = re.compile(r"[，,：:；;。]\s*")
_TOGETHER = re.compile(r"这?(?:两|二|三|几)(?:者|个|种|款|家|类|国)[^，,]{0,6}$")
_DATE = re.compile(r"\d+年(?:\d+月|底|初|末|度|[上下]半年|第?[一二三四]季度)*")
_LATIN = re.compile(r"[A-Za-z][\w.+#/-]*(?:\s+[A-Za-z0-9][\w.+#/-]*)*", re.ASCII)
_PRONOUN_OF = re.compile(r"自己的|[我你他她它其]们?的")

_THING = rf"[^，,。？?！!；;]{{1,{_LONGEST_NAME}}}?"
_TOGETHER_COMPARED = r"(?:之间|相比|比|这?(?:两|二)(?:者|个|种|款|类)[^，,]{0,6}?)?"
_DIFFER = (
    r"(?:的)?(?:有|存在)?(?:什么|何|哪些|啥|怎样的)?(?:(?:最?主要|最大|最|根本|本质|具体|明显)的?|[两三几]个)?"
    r"(?:区别|不同(?:之处|点)?|差别|差异|异同|不一样)"
    r"(?:是什么|是啥|在哪(?:里|儿)?|在于什么|有哪些|有什么|何在)?"
)
_COMPARISON = re.compile(
    rf"(?:请问|比较一下|比较|对比)?(?P<one>{_THING})\s*(?:和|与|跟|同|相比于|比起|vs\.?)\s*"
    rf"(?P<other>{_THING}){_TOGETHER_COMPARED}"
    r"(?:[，,]\s*(?P<aspect>(?!有)[^，,]{1,16}?)"
    rf"|(?:在|的)(?P<field>(?![两三几]个)[^，,]{{1,12}}?)(?:上|方面|中)?)?(?:[，,]\s*)?{_DIFFER}呢?",
    re.IGNORECASE,
)
_APART = re.compile(
    rf"(?P<one>{_THING})\s*(?:和|与|跟)\s*(?P<other>{_THING})的分别(?:是什么|在哪[里儿]?)"
)


def divide(text: str) -> tuple[SubQuestion, ...]:
    """Return the questions in a text; at most one if it cannot be divided.

    A question that leans on the one before it is part of that: one passage answers both.
    """
    clauses: list[list[str]] = []
    context = ""
    for sentence in _SENTENCE_END.split(text):
        questions = list(_clauses(sentence.strip(_END_MARKS)))
        if not questions:
            if clauses and sentence.rstrip().endswith(("？", "?")):
                return ()  # 能不能……？ continues the question before it
            context += sentence
            continue
        for question in questions:
            if clauses and _leans(question, clauses[-1][0]):
                clauses[-1].append(question)
            else:
                clauses.append([question])
    return tuple(
        SubQuestion(f"{one}？", f"{'' if number else context}{one}？")
        for number, (first, *leaning) in enumerate(clauses)
        for one in (("，".join((first, *leaning)),) if leaning else _distribute(first))
    )


def _leans(question: str, before: str) -> bool:
    """Return True if a question needs the words of the one before it.

    A short one does, but not if it asks the same of something else: 租约是什么？许可证是什么？
    """
    simple, asked = simplify(question), _ASKS.search(simplify(before))
    if _POINTS_BACK.search(simple):
        return True
    if len(question) > _MOST_LEANING or _OWN_NAME.search(question):
        return False
    asks_alike = asked is not None and asked[0] in _ASKS.findall(simple)
    return not asks_alike or len(_SAYS_NOTHING.sub("", simple)) < _FEWEST_OF_ITS_OWN


def compare(text: str) -> DividedQuestion | None:
    """Return one question for each of two compared names; None for any other question."""
    text = text.strip(_END_MARKS)
    simple = simplify(text)
    found = _COMPARISON.fullmatch(simple) or _APART.fullmatch(simple)
    if found is None:
        return None
    names = tuple(text[slice(*found.span(name))].strip() for name in ("one", "other"))
    if any(_ASKS.search(simplify(name)) or _NOT_AND.search(name) for name in names):
        return None
    parts = found.groupdict()
    aspect = parts.get("aspect") or (f"的{parts['field']}" if parts.get("field") else "")
    asking = "是什么？" if simple == text else "是什麼？"
    asked = [f"{name}{aspect}{asking}" for name in names]
    return DividedQuestion(tuple(SubQuestion(one, one) for one in asked), names)


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the questions of a sentence, the first one with everything before it."""
    simple = _QUOTED.sub(lambda quote: "〇" * len(quote[0]), simplify(sentence))
    if not _asks(simple):
        return
    start = 0
    for gap in _GAP.finditer(simple):
        last = _GAP.split(simple[start : gap.start()])[-1]
        is_question = _asks(last) and (_CLOSES.search(last) or _OPENS.match(last))
        if is_question and _asks(simple[gap.end() :]):
            yield sentence[start : gap.start()]
            start = gap.end()
    yield sentence[start:]


def _asks(clause: str) -> bool:
    return bool(_ASKS.search(clause)) and not _NO_QUESTION.search(clause)


def _distribute(question: str) -> tuple[str, ...]:
    """Split a question about "A 和 B 分别" into one for each name; else return it alone."""
    simple = simplify(question)
    each = _EACH.search(simple)
    if each is None:
        return (question,)
    together = _TOGETHER.search(simple, 0, each.start())
    end = together.start() if together else each.start()
    joints = [j for j in _AND.finditer(simple, 0, end) if not _NOT_AND.search(simple[: j.start()])]
    if not joints:
        return (question,)
    left = question[: joints[-1].start()]
    edge = max((found.end() for found in _BOUNDARY.finditer(left)), default=0)
    prefix, things = left[:edge], re.split(r"\s*、\s*", left[edge:])
    right = question[joints[-1].end() : end]
    behind = _BOUNDARY.search(right)
    last = right[: behind.start()] if behind else right
    suffix = right[len(last) :]
    shared, things[0], last, tail = _share(things[0], last)
    things.append(last)
    if not all(
        0 < len(thing) <= _LONGEST_NAME and not _ASKS.search(simplify(thing)) for thing in things
    ):
        return (question,)
    gap = "，" if simple[each.start()] in "，," else ""
    asked = question[each.end() :].lstrip()
    suffix = f"{tail}{suffix}".strip()
    return tuple(f"{prefix}{shared}{thing}{suffix}{gap}{asked}" for thing in things)


class _Names(NamedTuple):
    """Two names, and the text that they share before and after them."""

    before: str
    first: str
    last: str
    behind: str


def _share(first: str, last: str) -> _Names:
    """Separate two joined names from what they share.

    "2023年A市出口额和进口额" share "2023年A市"; "男子和女子的收入" share "的收入".
    """
    shared = (find(first, last) for find in (_by_script, _by_date, _by_possessor, _by_ending))
    return next(filter(None, shared), _Names("", first, last, ""))


def _by_script(first: str, last: str) -> _Names | None:
    """Return the names if both are in Latin script: they end where Chinese begins."""
    one, other = _LATIN.search(first), _LATIN.match(last)
    if one is None or other is None:
        return None
    before = first[: one.start()] if one.end() == len(first) else ""
    return _Names(before, first[len(before) :], other[0], last[other.end() :])


def _by_date(first: str, last: str) -> _Names | None:
    one, other = _DATE.match(first), _DATE.match(last)
    if one is None or (other is None and one.end() == len(first)):
        return None
    if other is None and not _ends_alike(first, last):
        return _Names(one[0], first[one.end() :], last, "")
    if other is not None and one.end() == len(first):
        return _Names("", first, other[0], last[other.end() :])
    return None


def _by_possessor(first: str, last: str) -> _Names | None:
    """Return the names if they share a possessor before them, or what they possess after them."""
    if "的" in first and "的" not in last:
        cut = first.rindex("的") + 1
        return _Names(first[:cut], first[cut:], last, "")
    if "的" in last and "的" not in first and not _PRONOUN_OF.search(last):
        cut = last.index("的")
        if abs(cut - len(first)) <= 1:
            return _Names("", first, last[:cut], last[cut:])
    return None


def _by_ending(first: str, last: str) -> _Names | None:
    if not _ends_alike(first, last):
        return None
    extra = len(first) - len(last)
    return _Names(first[:extra], first[extra:], last, "")


def _ends_alike(first: str, last: str) -> bool:
    return len(first) > len(last) and first[-1:] == last[-1:]
