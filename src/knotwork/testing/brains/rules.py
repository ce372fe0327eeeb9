"""A brain that does every task of the framework by rules, in the language of what it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from knotwork.inference.chat import Message
from knotwork.testing.brains.asking import (
    answer,
    ask_further,
    map_reports,
    rate_reports,
    reduce_points,
    route_question,
)
from knotwork.testing.brains.conversing import read_told, understand_question
from knotwork.testing.brains.lines import LineForm
from knotwork.testing.brains.marks import Assignment, read_assignment
from knotwork.testing.brains.passages import cite, read_passages
from knotwork.testing.brains.planning import (
    choose_fragments,
    choose_template,
    plan_relations,
    plan_step,
    translate_question,
)
from knotwork.testing.brains.reading import Fact, key_words, language_of, read_text, sentences_of
from knotwork.testing.brains.relating import check_relations, propose_schema
from knotwork.testing.brains.searching import (
    expand_question,
    imagine_passage,
    rate_passages,
    rewrite_question,
    split_task,
    write_questions,
)
from knotwork.text.names import normal_form
from knotwork.text.tokens import count_tokens
from knotwork.transform.rules.aliases import is_short_for
from knotwork.transform.rules.chinese import is_chinese

Brain = Callable[[Sequence[Message]], str]
"""What a server says: a function of the conversation, called from many threads."""

Task = Callable[[Assignment, LineForm], str]

_PAIR = re.compile(r"^\s*(\d+)[.):、]?\s*(.+?)\s*\|\|\s*(.+?)\s*$", re.MULTILINE)
_LEGAL_FORM = re.compile("(?:股份|责任)?有限(?:责任)?")
_UNNAMED = {"en": "is related to", "zh": "相关"}
_AND = {"en": " and ", "zh": "与"}
_HEAD = re.compile(r"^# (\d{1,4})(?: .*)?$", re.MULTILINE)
_SUMMARY_TOKENS = 120
_GRAPH_LINES = 10
_BRIEF_WORDS = 12
_BRIEF_CHARACTERS = 25
_REPORT_SUMMARY_TOKENS = 60
_REPORT_FINDINGS = 4
_KEYWORDS = 10


class UnknownTask(ValueError):
    """A prompt is marked with a task that the brain does not know."""


class RuleBrain:
    """Does the task that a prompt's marks name (see `knotwork.testing.brains.marks`).

    The tasks are those of `TASKS`, and of ``tasks``, which may replace them. Without a mark it
    answers from a context, if there is one, or repeats the first sentences of the message. Equal
    conversations get equal answers. Raises UnknownTask.
    """

    def __init__(
        self, *, form: LineForm | None = None, tasks: Mapping[str, Task] | None = None
    ) -> None:
        self._form = form or LineForm()
        self._tasks = {**TASKS, **(tasks or {})}

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the answer to a conversation."""
        assignment = read_assignment(messages)
        if not assignment.task:
            task: Task = answer if "context" in assignment.sections else repeat
        elif assignment.task in self._tasks:
            task = self._tasks[assignment.task]
        else:
            known = ", ".join(sorted(self._tasks))
            raise UnknownTask(f"Unknown task `{assignment.task}`. Known: {known}.")
        return task(assignment, self._form)


def repeat(assignment: Assignment, form: LineForm) -> str:
    """Return the first sentences of the text."""
    return _shorten(sentences_of(assignment.section("text"))) or form.nothing


def extract_triplets(assignment: Assignment, form: LineForm) -> str:
    """Return the facts of a text, one a line; pairs without a word between them are left out."""
    facts = read_text(assignment.section("text"))[1]
    lines = [form.triplet(f.source, f.relation, f.target) for f in facts if f.relation]
    return "\n".join(dict.fromkeys(lines)) or form.nothing


def extract_graph(assignment: Assignment, form: LineForm) -> str:
    """Return the entities of a text and their relations, as briefly as the prompts ask for."""
    text = assignment.section("text")
    named, facts = read_text(text)
    unnamed = _UNNAMED[language_of(text)]
    lines = [
        form.entity(n.name, n.kind or "OTHER", _brief(n.sentences[0])) for n in named[:_GRAPH_LINES]
    ]
    listed = {n.name for n in named[:_GRAPH_LINES]}
    stated = [fact for fact in facts if {fact.source, fact.target} <= listed]
    lines += [_relation_line(fact, form, unnamed) for fact in stated[:_GRAPH_LINES]]
    return "\n".join(dict.fromkeys(lines)) or form.nothing


def _relation_line(fact: Fact, form: LineForm, unnamed: str) -> str:
    return form.relation(fact.source, fact.relation or unnamed, fact.target)


def _brief(sentence: str) -> str:
    """Return the beginning of a sentence, as long as a summary may be."""
    if language_of(sentence) == "zh":
        return sentence[:_BRIEF_CHARACTERS]
    return " ".join(sentence.split()[:_BRIEF_WORDS])


def glean(assignment: Assignment, form: LineForm) -> str:
    """Find nothing more: the rules find all that they can the first time."""
    del assignment
    return form.nothing


def summarise_descriptions(assignment: Assignment, form: LineForm) -> str:
    """Return the distinct sentences of descriptions, as many as a summary holds.

    Of several entries, headed ``# NUMBER NAME``, each has a line of its own.
    """
    told = assignment.section("descriptions", "text")
    entries = _groups(told)
    if not entries:
        return _shorten(sentences_of(told)) or form.nothing
    lines = [form.join(number, _shorten(sentences_of(text))) for number, text in entries if text]
    return "\n".join(lines) or form.nothing


def report_community(assignment: Assignment, form: LineForm) -> str:
    """Return a report: what is named most as title, first sentences, and the lines as findings.

    Of several groups, headed ``# NUMBER``, each has one.
    """
    told = assignment.section("community", "context", "text")
    groups = _groups(told)
    if not groups:
        return "\n".join(_report_lines(told, form)) or form.nothing
    lines: list[str] = []
    for number, text in groups:
        report = _report_lines(text, form)
        lines += [form.join("report", number), *report] if report else []
    return "\n".join(lines) or form.nothing


def _report_lines(told: str, form: LineForm) -> list[str]:
    passages = read_passages(told)
    text = "\n".join(passage.text for passage in passages)
    named = sorted(read_text(text)[0], key=lambda n: -len(n.sentences))
    title = _AND[language_of(text)].join(n.name for n in named[:2])
    firsts = [(passage, sentences_of(passage.text)[:1]) for passage in passages]
    findings = [cite(first[0], passage.number) for passage, first in firsts if first]
    findings = list(dict.fromkeys(findings))
    if not findings:
        return []
    first_sentences = [sentence for _, first in firsts for sentence in first]
    summary = _shorten(first_sentences, most_tokens=_REPORT_SUMMARY_TOKENS)
    return form.report(title or findings[0], summary, findings[:_REPORT_FINDINGS])


def _groups(told: str) -> list[tuple[str, str]]:
    """Return the numbers and the texts of the parts of a section that has headings, in order."""
    heads = list(_HEAD.finditer(told))
    ends = [head.start() for head in heads[1:]] + [len(told)]
    return [(h[1], told[h.end() : end].strip()) for h, end in zip(heads, ends, strict=bool(heads))]


def find_keywords(assignment: Assignment, form: LineForm) -> str:
    """Return the names of a question, then its other words, one a line."""
    question = assignment.section("question", "text")
    names = [thing.name for thing in read_text(question)[0]]
    inside = {part for name in names for part in name.lower().split()}
    words = [w for w in key_words(question) if w not in inside and not _is_in(w, names)]
    lines = [form.keyword(word) for word in [*names, *words][:_KEYWORDS]]
    return "\n".join(lines) or form.nothing


def judge_pairs(assignment: Assignment, form: LineForm) -> str:
    """Return a verdict on every numbered pair: same form, or one short for the other."""
    pairs = _PAIR.findall(assignment.section("pairs"))
    lines = [
        form.verdict(int(number), same=_is_same(_name_of(first), _name_of(second)))
        for number, first, second in pairs
    ]
    return "\n".join(lines) or form.nothing


TASKS: dict[str, Task] = {
    "answer": answer,
    "check-relations": check_relations,
    "ask-further": ask_further,
    "choose-fragments": choose_fragments,
    "choose-template": choose_template,
    "expand-question": expand_question,
    "extract-graph": extract_graph,
    "extract-triplets": extract_triplets,
    "find-keywords": find_keywords,
    "glean": glean,
    "imagine-passage": imagine_passage,
    "judge-pairs": judge_pairs,
    "map-reports": map_reports,
    "plan-relations": plan_relations,
    "plan-step": plan_step,
    "propose-schema": propose_schema,
    "rate-passages": rate_passages,
    "rate-reports": rate_reports,
    "read-told": read_told,
    "reduce-points": reduce_points,
    "report-community": report_community,
    "rewrite-question": rewrite_question,
    "route-question": route_question,
    "split-question": split_task,
    "summarise-descriptions": summarise_descriptions,
    "translate-question": translate_question,
    "understand-question": understand_question,
    "write-questions": write_questions,
}
"""What a prompt may ask for in its first line, as ``task: NAME``."""


def _shorten(sentences: Sequence[str], *, most_tokens: int = _SUMMARY_TOKENS) -> str:
    """Join distinct sentences up to the size of a summary; the first is always there."""
    kept: list[str] = []
    total = 0
    for sentence in dict.fromkeys(s for s in sentences if s):
        total += count_tokens(sentence)
        if kept and total > most_tokens:
            break
        kept.append(sentence)
    apart = "" if kept and language_of("".join(kept)) == "zh" else " "
    return apart.join(kept)


def _is_in(word: str, names: Sequence[str]) -> bool:
    return any(word in name for name in names)


def _name_of(described: str) -> str:
    """Return the name of "NAME: description"."""
    return re.split(r"[:：]", described, maxsplit=1)[0].strip()


def _is_same(first: str, second: str) -> bool:
    forms = normal_form(first), normal_form(second)
    if forms[0] == forms[1]:
        return True
    if is_chinese(first) and _LEGAL_FORM.sub("", first) == _LEGAL_FORM.sub("", second):
        return True
    short, full = sorted((first, second), key=len)
    if is_chinese(short):  # 北大 is 北京大学; 李明 is not 李小明
        return len(full) >= 2 * len(short) and full[0] == short[0] and is_short_for(short, full)
    return is_short_for(short, full)
