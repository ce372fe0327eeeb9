"""Perform every task of the prompts by rules, in the language of the material.

`RuleBrain` reads the task from the prompt and calls its function in `TASKS`, which returns the
lines of the reply.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from knotwork._extensions.testing.brains.prompts import (
    Assignment,
    NumberedPassage,
    RankedSentence,
    cite,
    key_words,
    language_of,
    line,
    rank_sentences_of_passages,
    read_assignment,
    read_passages,
    read_text,
    sentences_of,
)
from knotwork._inference.chat import Message
from knotwork._retrieval.community_search import find_topic
from knotwork._retrieval.steps.decompose import split_question
from knotwork._retrieval.steps.query_transformation import without_politeness
from knotwork._synthesis.engine import choose_mode
from knotwork._synthesis.messages import no_answer
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork._transform.rules.chinese_sentences import is_chinese
from knotwork._transform.rules.entity_names import is_short_for
from knotwork.records import Span

Brain = Callable[[Sequence[Message]], str]
"""A function from a conversation to a reply. It is called from many threads."""

Task = Callable[[Assignment], str | Iterable[str]]
"""Returns a reply, or its lines."""

NOTHING = "none"
"""The reply without results, to distinguish it from an empty reply."""

_LISTED = re.compile(r"^(\d{1,4})\. (.+?) \| (.+?) \| (.+?)(?: \| .*)?$", re.MULTILINE)
_PAIR = re.compile(r"^\s*(\d+)[.):、]?\s*(.+?)\s*\|\|\s*(.+?)\s*$", re.MULTILINE)
_HEAD = re.compile(r"^# (\d{1,4})(?: .*)?$", re.MULTILINE)
_POINT = re.compile(r"^\s*(\d{1,3})\s*\|\s*(\S.*)$", re.MULTILINE)
_RATED = re.compile(r"^\s*(\d{1,4})\s*\|\s*(\S.*)$", re.MULTILINE)
_TITLE = re.compile(r"^#.*$", re.MULTILINE)
_PATH = re.compile(r"^(\[\d{1,4}\]).*\n(?!\[\d)", re.MULTILINE)
"""The line above a passage: its number, and its section path, which states nothing."""
_MOST = re.compile(r"at most (\d+)|最多(\d+)")
_TOOL = re.compile(r"^([\w+-]+) - ", re.MULTILINE)
_STEP_HEAD = re.compile(r"^# (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_LABEL = re.compile(r"\(:([A-Za-z]\w*)\) \d+ nodes")
_TABLE = re.compile(r"^table (\w+) ", re.MULTILINE)
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|her|them)\b|[他她它]们?", re.IGNORECASE)
_LEGAL_FORM = re.compile("(?:股份|责任)?有限(?:责任)?")

_AND = {"en": " and ", "zh": "与"}
_APART = {"en": ", ", "zh": "、"}
_FORMS = {"en": ("{}s", "{}ed", "{}ing"), "zh": ("{}的",)}
_NAMELESS = {"en": "What is said here: {}?", "zh": "这里说了什么：{}？"}
_SEEN = {"en": "A diagram with the words {}.", "zh": "一张图，上面写着{}。"}
_SUCH_AS = {"en": ("such as ", " and "), "zh": ("例如", "和")}
_UNNAMED_RELATION = {"en": "is related to", "zh": "相关"}
_WHAT_IS = {"en": "What is said of {}?", "zh": "关于{}说了什么？"}

_ANSWER_SENTENCES = 3
_BEST_RATING = 5
_BRIEF_CHARACTERS = 25
_BRIEF_WORDS = 12
_EXPANDED_WORDS = 4
_FINDINGS = 5
_GRAPH_LINES = 10
_QUESTIONS_PER_PASSAGE = 3
_RATING_OF_ANY = 3
_REPORT_FINDINGS = 4
_REPORT_SUMMARY_TOKENS = 60
_SHOWN_NAMES = 2
_SUMMARY_TOKENS = 120


class UnknownTask(ValueError):
    """A prompt names a task that the brain does not have."""


class RuleBrain:
    """Performs the task that a prompt names (see `knotwork._extensions.testing.brains.prompts`).

    The tasks are those in `TASKS` and in ``tasks``, which may override them. Without a task it
    answers from the context, if there is one, or repeats the first sentences of the message. Equal
    conversations get equal replies. Raises UnknownTask.
    """

    def __init__(self, *, tasks: Mapping[str, Task] | None = None) -> None:
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
        reply = task(assignment)
        return (reply if isinstance(reply, str) else "\n".join(filter(None, reply))) or NOTHING


def repeat(assignment: Assignment) -> str:
    """Return the first sentences of the text."""
    return _shorten(sentences_of(assignment.section("text")))


def extract_triplets(assignment: Assignment) -> Iterable[str]:
    """Return the facts of a text. Names without words between them are skipped."""
    facts = read_text(assignment.section("text"))[1]
    return dict.fromkeys(line(f.source, f.relation, f.target) for f in facts if f.relation)


def extract_graph(assignment: Assignment) -> Iterable[str]:
    """Return up to ten entities of a text, with short summaries, and the relations among them."""
    text = assignment.section("text")
    named, facts = read_text(text)
    unnamed = _UNNAMED_RELATION[language_of(text)]
    listed = {n.name: n for n in named[:_GRAPH_LINES]}
    stated = [fact for fact in facts if {fact.source, fact.target} <= listed.keys()]
    lines = [
        line("entity", n.name, n.kind or "OTHER", _brief(n.sentences[0]))
        for n in named[:_GRAPH_LINES]
    ]
    lines += [
        line("relation", fact.source, fact.relation or unnamed, fact.target)
        for fact in stated[:_GRAPH_LINES]
    ]
    return dict.fromkeys(lines)


def _brief(sentence: str) -> str:
    """Return the start of a sentence, within the length of a summary."""
    if language_of(sentence) == "zh":
        return sentence[:_BRIEF_CHARACTERS]
    return " ".join(sentence.split()[:_BRIEF_WORDS])


def summarise_descriptions(assignment: Assignment) -> Iterator[str]:
    """Yield the first distinct sentences of the descriptions, up to 120 tokens.

    With several entries, headed ``# NUMBER NAME``, each gets a line.
    """
    material = assignment.section("descriptions", "text")
    entries = _groups(material)
    if not entries:
        yield _shorten(sentences_of(material))
    for number, text in entries:
        if text:
            yield line(number, _shorten(sentences_of(text)))


def report_community(assignment: Assignment) -> Iterator[str]:
    """Yield a report: the most frequent names as title, a summary, and cited findings.

    With several groups, headed ``# NUMBER``, each gets a report.
    """
    material = assignment.section("community", "context", "text")
    groups = _groups(material)
    if not groups:
        yield from _report_lines(material)
    for number, text in groups:
        if report := _report_lines(text):
            yield from (line("report", number), *report)


def _report_lines(material: str) -> list[str]:
    passages = read_passages(material)
    firsts = [(p, s) for p in passages for s in sentences_of(p.text)[:1]]
    findings = list(dict.fromkeys(cite(sentence, p.number) for p, sentence in firsts))
    if not findings:
        return []
    text = "\n".join(passage.text for passage in passages)
    named = sorted(read_text(text)[0], key=lambda n: -len(n.sentences))
    title = _AND[language_of(text)].join(n.name for n in named[:2])
    summary = _shorten([sentence for _, sentence in firsts], most_tokens=_REPORT_SUMMARY_TOKENS)
    lines = [line("title", title or findings[0]), line("summary", summary)]
    return lines + [line("finding", finding) for finding in findings[:_REPORT_FINDINGS]]


def _groups(material: str) -> list[tuple[str, str]]:
    """Split material at its ``# NUMBER`` headings, and return the numbers and texts in order."""
    heads = list(_HEAD.finditer(material))
    ends = [head.start() for head in heads[1:]] + [len(material)]
    return [
        (head[1], material[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=bool(heads))
    ]


def judge_pairs(assignment: Assignment) -> Iterator[str]:
    """Yield a verdict on every numbered pair: same if one is a form or short form of the other."""
    for number, *described in _PAIR.findall(assignment.section("pairs")):
        names = [re.split(r"[:：]", text, maxsplit=1)[0].strip() for text in described]
        yield line(int(number), "same" if _is_same(*names) else "different")


def _is_same(first: str, second: str) -> bool:
    if normal_form(first) == normal_form(second):
        return True
    if is_chinese(first) and _LEGAL_FORM.sub("", first) == _LEGAL_FORM.sub("", second):
        return True
    short, full = sorted((first, second), key=len)
    if is_chinese(short):  # 北大 is 北京大学; 李明 is not 李小明
        return len(full) >= 2 * len(short) and full[0] == short[0] and is_short_for(short, full)
    return is_short_for(short, full)


def check_relations(assignment: Assignment) -> Iterator[str]:
    """Yield a verdict on every numbered relation.

    A relation is fixed if the rules find it in the other direction, and dropped if no sentence
    names both ends.
    """
    text = assignment.section("text")
    sentences = [sentence.casefold() for sentence in sentences_of(text)]
    stated = {(f.source, f.relation, f.target) for f in read_text(text)[1]}
    listed = _LISTED.findall(assignment.message.partition("<text>")[0])
    for number, source, relation, target in listed:
        ends = source.casefold(), target.casefold()
        if (target, relation, source) in stated and (source, relation, target) not in stated:
            yield line(int(number), "fix", target, relation, source)
        else:
            is_kept = any(all(end in sentence for end in ends) for sentence in sentences)
            yield line(int(number), "keep" if is_kept else "drop")


def propose_schema(assignment: Assignment) -> Iterable[str]:
    """Return the types of the names in a text, with examples, and the relations between them."""
    text = assignment.section("text")
    named, facts = read_text(text)
    kinds = {entity.name: entity.kind or "OTHER" for entity in named}
    examples: dict[str, list[str]] = defaultdict(list)
    for name, kind in kinds.items():
        examples[kind].append(name)
    such_as, joint = _SUCH_AS[language_of(text)]
    lines = [
        line("type", kind, such_as + joint.join(names[:_SHOWN_NAMES]))
        for kind, names in examples.items()
    ]
    lines += [
        line("relation", kinds[fact.source], fact.relation, kinds[fact.target])
        for fact in facts
        if fact.relation
    ]
    return dict.fromkeys(lines)


def read_number(assignment: Assignment) -> str:
    """Return what is written in the picture."""
    return " ".join(_words_seen(assignment))


def describe_picture(assignment: Assignment) -> str:
    """Return a sentence with the words of the picture; none for a picture without words."""
    words = _words_seen(assignment)
    language = language_of("".join(words))
    return _SEEN[language].format(_APART[language].join(words)) if words else ""


def _words_seen(assignment: Assignment) -> list[str]:
    """Return the words in the pictures, which RapidOCR recognises."""
    if not assignment.pictures:
        return []
    from PIL import Image

    from knotwork._extensions.media.text_recognition import recognise

    pictures = (Image.open(io.BytesIO(picture.data)) for picture in assignment.pictures)
    return [found.text for picture in pictures for found in recognise(picture).lines]


def answer_question(assignment: Assignment) -> str:
    """Answer with the most relevant sentences of numbered lines, with citation marks."""
    ranked = _ranked(assignment)[:_ANSWER_SENTENCES]
    if not ranked:
        return no_answer(language_of(_question(assignment)))
    # Far less relevant sentences would only blur the answer.
    least = 2 / 3 * ranked[0].score
    return " ".join(cite(s.text, s.number) for s in ranked if s.score >= least)


def map_reports(assignment: Assignment) -> Iterator[str]:
    """Yield the points of reports that help to answer a question, with scores from 0 to 100."""
    for found in _ranked(assignment)[:_FINDINGS]:
        yield line(round(100 * min(found.score, 1)), cite(found.text, found.number))


def reduce_points(assignment: Assignment) -> str:
    """Join the best points of the map steps into an answer, with their citation marks."""
    points = [(int(score), text) for score, text in _POINT.findall(assignment.section("points"))]
    best = sorted(points, key=lambda point: -point[0])
    texts = list(dict.fromkeys(text.strip() for score, text in best if score > 0))
    kept = texts[:1]
    for text in texts[1:]:
        if count_tokens(" ".join([*kept, text])) <= _SUMMARY_TOKENS:
            kept.append(text)
    return _join(kept) or no_answer(language_of(_question(assignment)))


def rate_reports(assignment: Assignment) -> Iterator[str]:
    """Rate each numbered report by the number of terms it shares with the question."""
    asked = set(content_terms(find_topic(_question(assignment))))
    for number, text in _RATED.findall(assignment.section("reports")):
        shared = len(asked & set(content_terms(text)))
        rating = min(_RATING_OF_ANY * shared, _BEST_RATING) if asked else _RATING_OF_ANY
        yield line(number, rating)


def ask_further(assignment: Assignment) -> Iterator[str]:
    """Ask about each name in the material that is not in the question."""
    question = _question(assignment)
    text = _TITLE.sub("", assignment.section("reports", "points", "context"))
    names = [n.name for n in read_text(text)[0] if n.name not in question]
    limit = _MOST.search(assignment.instructions)
    for name in names[: int(limit[1] or limit[2]) if limit else len(names)]:
        yield line(_WHAT_IS[language_of(question)].format(name))


def route_question(assignment: Assignment) -> str:
    """Return the mode that the rules of `choose_mode` select."""
    return choose_mode(_question(assignment)).value


def _question(assignment: Assignment) -> str:
    return assignment.question or assignment.message


def _ranked(assignment: Assignment) -> list[RankedSentence]:
    """Return the sentences relevant to the question, best first.

    For a question about all reports, which has no topic, these are their first sentences.
    """
    question, passages = _question(assignment), _passages(assignment)
    ranked = rank_sentences_of_passages(question, passages)
    if not ranked and "reports" in assignment.sections and not find_topic(question):
        firsts = [(s, p.number) for p in passages for s in sentences_of(p.text)[:1]]
        return [RankedSentence(0.5, sentence, number) for sentence, number in firsts]
    return ranked


def _passages(assignment: Assignment) -> list[NumberedPassage]:
    tags = [tag for tag in ("context", "facts", "reports") if tag in assignment.sections]
    if not tags:
        return read_passages(assignment.section("community", "text"))
    texts = [_TITLE.sub("", assignment.sections[tag]) for tag in tags]
    if tags[0] == "context":
        texts[0] = _PATH.sub(r"\1", texts[0])
    return [passage for text in texts if text.strip() for passage in read_passages(text.strip())]


def split_task(assignment: Assignment) -> Iterator[str]:
    """Split a question into simple ones by the rules of `split_question`."""
    question = assignment.section("question", "text")
    names = [
        Span(place, place + len(thing.name))
        for thing in read_text(question)[0]
        if (place := question.find(thing.name)) >= 0
    ]
    plan = split_question(question, names)
    return map(line, plan.parts if plan else (question,))


def imagine_passage(assignment: Assignment) -> str:
    """Return the question's words as a statement."""
    question = assignment.section("question", "text")
    words = [thing.name for thing in read_text(question)[0]] + key_words(question)
    return line(" ".join(dict.fromkeys(words)))


def rewrite_question(assignment: Assignment) -> str:
    """Return the question without phrases of politeness."""
    return line(without_politeness(assignment.section("question", "text")))


def expand_question(assignment: Assignment) -> Iterator[str]:
    """Yield inflected forms of the question's words."""
    question = assignment.section("question", "text")
    for word in key_words(question)[:_EXPANDED_WORDS]:
        for form in _FORMS[language_of(question)]:
            yield line(form.format(word))


def rate_passages(assignment: Assignment) -> Iterator[str]:
    """Rate each numbered passage by its most relevant sentence."""
    passages = read_passages(assignment.section("context", "text"))
    best: dict[int, float] = {}
    for item in rank_sentences_of_passages(assignment.question, passages):
        best.setdefault(item.number, item.score)
    for passage in passages:
        yield line(passage.number, round(_BEST_RATING * min(best.get(passage.number, 0.0), 1.0)))


def write_questions(assignment: Assignment) -> Iterator[str]:
    """Ask about the first sentences of each numbered passage."""
    for passage in read_passages(assignment.section("context", "text")):
        for sentence in sentences_of(passage.text)[:_QUESTIONS_PER_PASSAGE]:
            bare = re.sub(r"[.。!！?？]+\s*$", "", sentence)
            yield line(passage.number, _NAMELESS[language_of(sentence)].format(bare))


def plan_step(assignment: Assignment) -> str:
    """Search once for a name found that is not in the question, then finish."""
    tools = _TOOL.findall(assignment.section("memory"))
    new = _new_name(assignment) if tools else ""
    return line("search", tools[0], f"{assignment.question} {new}") if new else "finish"


def draft_steps(assignment: Assignment) -> str:
    """Expect something of a name found that is not in the question, once, then finish."""
    new = _new_name(assignment)
    return line("step", f"{assignment.question} {new}") if new else "finish"


def _new_name(assignment: Assignment) -> str:
    """Return the first name found that is not in the question; "" after the first step."""
    found = assignment.section("context")
    if len(_STEP_HEAD.findall(found)) > 1:
        return ""
    names = (thing.name for thing in read_text(_STEP_HEAD.sub("", found))[0])
    return next((name for name in names if name not in assignment.question), "")


def plan_relations(assignment: Assignment) -> str:
    """Follow the relation with most words of the question from the first name."""
    names = assignment.section("memory").splitlines()
    asked = set(content_terms(assignment.question))
    relations = assignment.section("context").splitlines()
    best = max(relations, key=lambda r: len(asked & set(content_terms(r))), default="")
    return line("path", names[0], best) if names and asked & set(content_terms(best)) else ""


def choose_template(assignment: Assignment) -> str:
    """Choose the template that shares most words with the question, with empty slots."""
    asked = set(content_terms(assignment.question))
    offered = _NUMBERED.findall(assignment.section("context"))
    shared = [(len(asked & set(content_terms(text))), -int(n)) for n, text in offered]
    most, number = max(shared, default=(0, 0))
    return str(-number) if most else ""


def choose_fragments(assignment: Assignment) -> Iterator[str]:
    """Count the nodes with the first label, as fragments of a plan."""
    if label := _LABEL.search(assignment.section("context")):
        yield from (line("find", "x", label[1]), line("count", "x"))


def translate_question(assignment: Assignment) -> str:
    """Return a query that counts the rows of the first table or the nodes of the first label."""
    schema = assignment.section("context")
    if table := _TABLE.search(schema):
        return f"SELECT count(*) FROM {table[1]}"  # noqa: S608  a plain name
    label = _LABEL.search(schema)
    return f"MATCH (n:{label[1]}) RETURN count(n)" if label else ""


def understand_question(assignment: Assignment) -> str:
    """Replace the question's first pronoun by the first name of the conversation."""
    question = assignment.question
    names = read_text(assignment.section("memory"))[0]
    return (_PRONOUN.sub(names[0].name, question, count=1) if names else question).strip()


def read_stated_facts(assignment: Assignment) -> Iterator[str]:
    """Yield one fact for each pair of adjacent names in a sentence, with the words between."""
    text = assignment.section("text")
    for fact in read_text(text)[1]:
        relation = fact.relation or _UNNAMED_RELATION[language_of(text)]
        yield line("fact", fact.source, relation, fact.target, "-", "-")


TASKS: dict[str, Task] = {
    "answer": answer_question,
    "ask-further": ask_further,
    "check-relations": check_relations,
    "choose-fragments": choose_fragments,
    "choose-template": choose_template,
    "describe-picture": describe_picture,
    "draft-steps": draft_steps,
    "expand-question": expand_question,
    "extract-graph": extract_graph,
    "extract-triplets": extract_triplets,
    "glean": lambda _: NOTHING,  # the rules find everything in the first pass
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


def _shorten(sentences: Iterable[str], *, most_tokens: int = _SUMMARY_TOKENS) -> str:
    """Join distinct sentences up to the size of a summary; the first is always there."""
    kept: list[str] = []
    total = 0
    for sentence in dict.fromkeys(s for s in sentences if s):
        total += count_tokens(sentence)
        if kept and total > most_tokens:
            break
        kept.append(sentence)
    return _join(kept)


def _join(sentences: Sequence[str]) -> str:
    return ("" if language_of("".join(sentences)) == "zh" else " ").join(sentences)
