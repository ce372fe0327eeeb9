"""Perform every task of the prompts by rules, in the language of the material.

`RuleBrain` reads the task from the prompt and calls its function in `TASKS`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from knotwork._extensions.testing.brains.pictures import describe_picture, read_number
from knotwork._extensions.testing.brains.prompts import (
    Assignment,
    LineForm,
    cite,
    read_assignment,
    read_passages,
)
from knotwork._extensions.testing.brains.question_tasks import (
    UNNAMED_RELATION,
    answer_question,
    ask_further,
    choose_fragments,
    choose_template,
    draft_steps,
    expand_question,
    imagine_passage,
    map_reports,
    plan_relations,
    plan_step,
    rate_passages,
    rate_reports,
    read_stated_facts,
    reduce_points,
    rewrite_question,
    route_question,
    split_task,
    translate_question,
    understand_question,
    write_questions,
)
from knotwork._extensions.testing.brains.reading import (
    language_of,
    read_text,
    sentences_of,
)
from knotwork._inference.chat import Message
from knotwork._text.names import normal_form
from knotwork._text.token_counts import count_tokens
from knotwork._transform.rules.chinese_sentences import is_chinese
from knotwork._transform.rules.entity_names import is_short_for

_LISTED = re.compile(r"^(\d{1,4})\. (.+?) \| (.+?) \| (.+?)(?: \| .*)?$", re.MULTILINE)
_SHOWN_NAMES = 2
_SUCH_AS = {"en": ("such as ", " and "), "zh": ("例如", "和")}

Brain = Callable[[Sequence[Message]], str]
"""A function from a conversation to a reply. It is called from many threads."""

Task = Callable[[Assignment, LineForm], str]

_PAIR = re.compile(r"^\s*(\d+)[.):、]?\s*(.+?)\s*\|\|\s*(.+?)\s*$", re.MULTILINE)
_LEGAL_FORM = re.compile("(?:股份|责任)?有限(?:责任)?")
_AND = {"en": " and ", "zh": "与"}
_HEAD = re.compile(r"^# (\d{1,4})(?: .*)?$", re.MULTILINE)
_SUMMARY_TOKENS = 120
_GRAPH_LINES = 10
_BRIEF_WORDS = 12
_BRIEF_CHARACTERS = 25
_REPORT_SUMMARY_TOKENS = 60
_REPORT_FINDINGS = 4


class UnknownTask(ValueError):
    """A prompt names a task that the brain does not have."""


class RuleBrain:
    """Performs the task that a prompt names (see `knotwork._extensions.testing.brains.prompts`).

    The tasks are those in `TASKS` and in ``tasks``, which may override them. Without a task it
    answers from the context, if there is one, or repeats the first sentences of the message. Equal
    conversations get equal replies. Raises UnknownTask.
    """

    def __init__(
        self, *, form: LineForm | None = None, tasks: Mapping[str, Task] | None = None
    ) -> None:
        self._form = form or LineForm()
        self._tasks = {**TASKS, **(tasks or {})}

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the reply to a conversation."""
        assignment = read_assignment(messages)
        if not assignment.task:
            task: Task = answer_question if "context" in assignment.sections else repeat
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
    """Return the facts of a text, one per line. Names without words between them are skipped."""
    facts = read_text(assignment.section("text"))[1]
    lines = [form.triplet(f.source, f.relation, f.target) for f in facts if f.relation]
    return "\n".join(dict.fromkeys(lines)) or form.nothing


def extract_graph(assignment: Assignment, form: LineForm) -> str:
    """Return up to ten entities of a text, with short summaries, and the relations among them."""
    text = assignment.section("text")
    named, facts = read_text(text)
    unnamed = UNNAMED_RELATION[language_of(text)]
    lines = [
        form.entity(n.name, n.kind or "OTHER", _brief(n.sentences[0])) for n in named[:_GRAPH_LINES]
    ]
    listed = {n.name for n in named[:_GRAPH_LINES]}
    stated = [fact for fact in facts if {fact.source, fact.target} <= listed]
    lines += [
        form.relation(fact.source, fact.relation or unnamed, fact.target)
        for fact in stated[:_GRAPH_LINES]
    ]
    return "\n".join(dict.fromkeys(lines)) or form.nothing


def _brief(sentence: str) -> str:
    """Return the start of a sentence, within the length of a summary."""
    if language_of(sentence) == "zh":
        return sentence[:_BRIEF_CHARACTERS]
    return " ".join(sentence.split()[:_BRIEF_WORDS])


def glean(assignment: Assignment, form: LineForm) -> str:
    """Return nothing: the rules find everything in the first pass."""
    del assignment
    return form.nothing


def summarise_descriptions(assignment: Assignment, form: LineForm) -> str:
    """Return the first distinct sentences of the descriptions, up to 120 tokens.

    With several entries, headed ``# NUMBER NAME``, each gets a line.
    """
    material = assignment.section("descriptions", "text")
    entries = _groups(material)
    if not entries:
        return _shorten(sentences_of(material)) or form.nothing
    lines = [form.join(number, _shorten(sentences_of(text))) for number, text in entries if text]
    return "\n".join(lines) or form.nothing


def report_community(assignment: Assignment, form: LineForm) -> str:
    """Return a report: the most frequent names as title, a summary, and cited findings.

    With several groups, headed ``# NUMBER``, each gets a report.
    """
    material = assignment.section("community", "context", "text")
    groups = _groups(material)
    if not groups:
        return "\n".join(_report_lines(material, form)) or form.nothing
    lines: list[str] = []
    for number, text in groups:
        report = _report_lines(text, form)
        lines += [form.join("report", number), *report] if report else []
    return "\n".join(lines) or form.nothing


def _report_lines(material: str, form: LineForm) -> list[str]:
    passages = read_passages(material)
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


def _groups(material: str) -> list[tuple[str, str]]:
    """Split material at its ``# NUMBER`` headings, and return the numbers and texts in order."""
    heads = list(_HEAD.finditer(material))
    ends = [head.start() for head in heads[1:]] + [len(material)]
    return [
        (head[1], material[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=bool(heads))
    ]


def judge_pairs(assignment: Assignment, form: LineForm) -> str:
    """Return a verdict on every numbered pair: same if one is a form or short form of the other."""
    pairs = _PAIR.findall(assignment.section("pairs"))
    lines = [
        form.verdict(int(number), same=_is_same(_name_of(first), _name_of(second)))
        for number, first, second in pairs
    ]
    return "\n".join(lines) or form.nothing


def check_relations(assignment: Assignment, form: LineForm) -> str:
    """Return a verdict on every numbered relation.

    A relation is fixed if the rules find it in the other direction, and dropped if no sentence
    names both ends.
    """
    listed = _LISTED.findall(assignment.message.partition("<text>")[0])
    text = assignment.section("text")
    sentences = [sentence.casefold() for sentence in sentences_of(text)]
    stated = {(f.source, f.relation, f.target) for f in read_text(text)[1]}
    lines = []
    for number, source, relation, target in listed:
        ends = source.casefold(), target.casefold()
        if (target, relation, source) in stated and (source, relation, target) not in stated:
            lines.append(form.judgement(int(number), "fix", target, relation, source))
        elif any(all(end in sentence for end in ends) for sentence in sentences):
            lines.append(form.judgement(int(number), "keep"))
        else:
            lines.append(form.judgement(int(number), "drop"))
    return "\n".join(lines) or form.nothing


def propose_schema(assignment: Assignment, form: LineForm) -> str:
    """Return the types of the names in a text, with examples, and the relations between them."""
    text = assignment.section("text")
    named, facts = read_text(text)
    examples: dict[str, list[str]] = defaultdict(list)
    for entity in named:
        examples[entity.kind or "OTHER"].append(entity.name)
    such_as, joint = _SUCH_AS[language_of(text)]
    lines = [
        form.proposed_type(kind, such_as + joint.join(names[:_SHOWN_NAMES]))
        for kind, names in examples.items()
    ]
    kinds = {entity.name: entity.kind or "OTHER" for entity in named}
    lines += [
        form.proposed_relation(kinds[fact.source], fact.relation, kinds[fact.target])
        for fact in facts
        if fact.relation
    ]
    return "\n".join(dict.fromkeys(lines)) or form.nothing


TASKS: dict[str, Task] = {
    "answer": answer_question,
    "check-relations": check_relations,
    "ask-further": ask_further,
    "choose-fragments": choose_fragments,
    "choose-template": choose_template,
    "describe-picture": describe_picture,
    "draft-steps": draft_steps,
    "expand-question": expand_question,
    "extract-graph": extract_graph,
    "extract-triplets": extract_triplets,
    "glean": glean,
    "imagine-passage": imagine_passage,
    "judge-pairs": judge_pairs,
    "map-reports": map_reports,
    "plan-relations": plan_relations,
    "plan-step": plan_step,
    "propose-schema": propose_schema,
    "rate-passages": rate_passages,
    "rate-reports": rate_reports,
    "read-number": read_number,
    "read-told": read_stated_facts,
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
