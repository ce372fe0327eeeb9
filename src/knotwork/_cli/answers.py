"""Print answers, passages and query results, and stream an answer while a model writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from knotwork._cli.terminal import Terminal, settled_length, wrap_text
from knotwork._cli.views import (
    EXCERPT_LENGTH,
    NOTES,
    Line,
    count_of,
    each,
    join_lines,
    note,
)
from knotwork._retrieval.query_rows import (
    is_node,
    is_relationship,
    node_name,
    show_value,
)
from knotwork._run import Progress, Stage
from knotwork._shapes import results
from knotwork._shapes.base import Json, fields_of
from knotwork._text.visible import make_printable
from knotwork.records import RETRIEVAL_QUERY, Answer, Evidence, PropertyValue

if TYPE_CHECKING:
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._stores.base import Store

_MOST_PATHS = 5
_MOST_ROWS = 20


_CITED = each(
    "citations",
    Line(
        "[[{number}] {document}[, {part}][, page {page}][, {box.text}][, {time.text}], "
        "characters {span.start}-{span.end}",
        "cyan",
    ),
    Line("“{quote:excerpt}”", indent=4),
)
_REMEMBERED = each(
    "memory",
    Line("[[M{number}] remembered[, {source}]", "cyan"),
    Line("“{text:excerpt}”", indent=4),
)
_USAGE = note(
    "[{mode}, ]{retriever}[, confidence {confidence:.2f} ({strength})], {ms:.0f} ms, "
    "{tokens} model tokens[ ({usage.input_tokens} in[, {usage.cached_tokens} of them cached], "
    "{usage.output_tokens} out)][ in {calls}][, cost {cost}][: {stages}]"
)
_QUERY = (
    Line("{statement}", "cyan"),
    Line("[with {bound}]", "dim", 4),
    Line("[on {place}[, from {row_count:#row}[ ({numbers})]]]", "dim", 4),
)
_RANKED = (Line("{#}. {place}  {score:.3f}", "cyan"), Line("{excerpt:excerpt}", indent=4))
_REASONS = (
    Line("[from the question: {seeds}]", indent=4),
    each("path", Line("over “{entity_name}” in: {sentence_text:excerpt}", indent=4)),
    Line("[{scores:?}score {score:.3f} = {scores:.3f}]", "dim", 4),
)


def describe_evidence(evidence: Evidence, store: Store) -> dict[str, Any]:
    """Return the object of `search --json`. Its keys are a public interface: docs/json.md."""
    return {"query": evidence.query.text, **results.describe_evidence(evidence, store)}


def show_answer(
    terminal: Terminal, answer: Answer, *, needed: float, is_shown: bool = False
) -> None:
    """Print an answer with its sources, or the refusal with the nearest passages.

    ``needed`` is the confidence that an answer must reach. ``is_shown`` means that the text of the
    answer has been printed already.
    """
    from knotwork._synthesis.extractive_answers import LOW_CONFIDENCE
    from knotwork._synthesis.messages import low_confidence
    from knotwork._text.languages import detect_language

    if not is_shown:
        style = "" if answer.answered else "yellow"
        terminal.markdown(answer.text, lead=answer.short, style=style)
    if answer.reason == LOW_CONFIDENCE and answer.confidence is not None:
        language = detect_language(answer.question)
        terminal.say(low_confidence(language, found=answer.confidence, needed=needed))
    for result in answer.results:
        terminal.show(result, "", Line("Query", "bold"))
        # The text of the answer lists the rows of other queries.
        has_rows = result.source == RETRIEVAL_QUERY
        _show_query(terminal, results.RESULT(result), has_rows=has_rows)
    if answer.citations or answer.memory:
        title = "Sources" if answer.answered else "Nearest passages"
        terminal.show(title, "", Line("{}", "bold"))
    cited = [
        fields_of(item) | {"part": item.section.removeprefix(item.title).removeprefix(" > ")}
        for item in answer.citations
    ]
    terminal.show(
        {"memory": answer.memory, "citations": cited, "notes": answer.notes},
        _REMEMBERED, _CITED, NOTES,
    )  # fmt: skip


def note_usage(terminal: Terminal, answer: Answer) -> None:
    """Note the retriever, confidence, time, tokens and cost of an answer on standard error."""
    usage = answer.usage
    calls = [count_of(usage.model_calls, "call")] if usage.model_calls else []
    calls += [f"{usage.reused_calls:,} cached"] if usage.reused_calls else []
    paid = {s.stage: s.input_tokens + s.output_tokens for s in usage.stages if s.model_calls}
    has_cost = usage.model_calls and usage.money is not None
    facts = {
        "mode": "" if answer.mode in ("basic", answer.retriever) else answer.mode,
        **fields_of(answer, "retriever", "confidence", "strength", "usage"),
        "ms": usage.seconds * 1000,
        "tokens": usage.input_tokens + usage.output_tokens,
        "calls": " and ".join(calls),
        "cost": f"{usage.money.normalize():f}" if has_cost and usage.money is not None else "",
        "stages": paid if len(paid) > 1 else {},
    }
    terminal.show(facts, _USAGE)


def show_evidence(terminal: Terminal, described: Mapping[str, Any], *, explain: bool) -> None:
    """Print the object of `describe_evidence`: the results of queries, the paths and the hits.

    ``explain`` adds why each hit was found, and the steps of the retriever.
    """
    for result in described["results"]:
        _show_query(terminal, result, has_rows=True)
    if not described["hits"] and not described["results"]:
        described = {**described, "none": "No passage found."}
    score = "  {score:.3f}" if explain else ""
    hits = [
        {**hit, "place": _place(hit), "excerpt": choose_excerpt(hit)} for hit in described["hits"]
    ]
    terminal.show(
        {"none": "", **described, "hits": hits, "trace": described["trace"] if explain else ()},
        each("paths", Line("path {#}: {text}" + score, "magenta"), most=_MOST_PATHS),
        "[{none}]",
        each("hits", *_RANKED, *(_REASONS if explain else ())),
        each("trace", Line("· {}", "dim")),
        each("notes", note("{}")),
    )


def _place(hit: Json) -> str:
    """Return the document of a hit, and its last heading unless that is the same."""
    parts = (hit["document"] or hit["title"], hit["section"].rpartition(" > ")[2])
    return ", ".join(dict.fromkeys(filter(None, parts)))


def _show_query(terminal: Terminal, result: Json, *, has_rows: bool) -> None:
    """Print a query, its parameters, what it read, and up to 20 of its rows."""
    numbers = ", ".join(str(source["row"]) for source in result["row_sources"] if source["table"])
    if numbers and len(result["row_sources"]) < (result["row_count"] or 0):
        numbers += ", …"
    bound = ", ".join(f"{name} = {value!r}" for name, value in result["parameters"].items())
    terminal.show({**result, "bound": bound, "numbers": numbers}, *_QUERY)
    if not has_rows:
        return
    rows = show_rows(result["rows"])
    terminal.table(rows[:_MOST_ROWS], header=result["columns"], indent=4)
    rest = len(rows) - _MOST_ROWS
    if not rows:
        terminal.say("no rows", indent=4)
    elif rest > 0 or result["truncated"]:
        more = f"{rest:,} more rows" if rest > 0 else "more rows"
        terminal.say(f"and {more}", style="dim", indent=4)


def show_rows(rows: Iterable[Sequence[PropertyValue]]) -> list[tuple[str, ...]]:
    """Format rows for display: a node as `(:Label name)`, a relationship as `[:TYPE relation]`."""
    return [tuple(map(_show_value, row)) for row in rows]


def _show_value(value: PropertyValue) -> str:
    """Format a value. Unlike in answers, nodes and relationships have brackets as in Cypher."""
    if is_node(value):
        return f"({''.join(f':{label}' for label in value['labels'])} {node_name(value)})"
    if is_relationship(value):
        return f"[:{value['type']} {value['properties'].get('relation', '')}".rstrip() + "]"
    return show_value(value)


def choose_excerpt(hit: Json) -> str:
    """Return the text of a hit, from its best sentence on if the text is long."""
    text: str = hit["text"]
    if not hit["sentences"] or len(text) <= EXCERPT_LENGTH:
        return text
    offset = max(hit["sentences"][0]["span"].start - hit["span"].start, 0)
    if offset >= len(text):
        return text
    return ("… " if offset else "") + text[offset:]


_LAID_OUT = re.compile(r"^[ \t]*(?:\||(?P<fence>```|~~~)|`{1,2}\Z|~{1,2}\Z)", re.MULTILINE)
"""The beginning of a table or code, or of a line that may become code."""
_WHOLE_TABLE = re.compile(r"(?:[ \t]*\|.*\n)+(?=[ \t]*[^|\s]|[ \t]*\n)")
_WHOLE_CODE = re.compile(r"[ \t]*(```|~~~).*\n(?:.*\n)*?[ \t]*\1[ \t]*\n")


class StreamedText:
    """Prints a text while it is generated, with the line breaks that the whole text will have.

    Tables and code are printed once they are complete.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._out = terminal.out
        self._text = ""
        self._written = ""
        self._has_text = False

    def add(self, piece: str) -> None:
        """Append a piece, and print all but the last word, which may still grow."""
        self._text += piece
        self._has_text |= bool(piece)
        while begun := _LAID_OUT.search(self._text):
            whole = (_WHOLE_CODE if begun["fence"] else _WHOLE_TABLE).match(
                self._text, begun.start()
            )
            self._write(_shown(self._text[: begun.start()]))
            if whole is None:
                return
            self._terminal.markdown(whole[0])
            self._text, self._written = self._text[whole.end() :], ""
        shown = _shown(self._text)
        self._write(shown[: settled_length(shown)])

    def end(self) -> None:
        """Print the rest and end the line. Does nothing if no text was added."""
        if not self._has_text:
            return
        begun = _LAID_OUT.search(self._text)
        self._write(_shown(self._text[: begun.start()] if begun else self._text))
        if begun:
            self._terminal.markdown(self._text[begun.start() :])
        elif self._text:
            self._out.file.write("\n")
        self._out.file.flush()
        self._text = self._written = ""
        self._has_text = False

    def _write(self, text: str) -> None:
        wrapped = "\n".join(wrap_text(text, self._out.width))
        self._out.file.write(wrapped[len(self._written) :])
        self._out.file.flush()
        self._written = wrapped


def _shown(text: str) -> str:
    return make_printable(text).expandtabs()


class AnswerView:
    """Shows the progress of one question, and the answer while a model writes it.

    Progress is shown on standard error if that is interactive. The answer is streamed to standard
    output if that is a terminal; otherwise the caller prints it. ``has_shown_answer`` is True once
    the answer has been streamed.
    """

    def __init__(self, terminal: Terminal, *, hidden: bool) -> None:
        self._terminal = terminal
        self._has_status = terminal.is_interactive and not hidden and not terminal.quiet
        self._streams = not terminal.json and terminal.out.is_terminal
        self._status = ExitStack()
        self._text = StreamedText(terminal)
        self.has_shown_answer = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.close()
        self._text.end()

    def _show_status(self, label: str) -> None:
        if self._has_status:
            self._status.close()
            self._status.enter_context(self._terminal.err.status(label))

    def show(self, step: Progress) -> None:
        """Show an event."""
        if step.stage == Stage.ASKED:
            self._show_status(f"Asking {join_lines(step.note)}")
        elif step.stage == Stage.STEP:
            self._show_status(f"{describe_step(step)} …")
        elif step.stage == Stage.TEXT and self._streams:
            self._status.close()
            self._text.add(step.note)
            self.has_shown_answer = True
        elif step.stage == Stage.WITHDRAWN:
            self._status.close()
            self._text.end()
            if self.has_shown_answer:
                self._terminal.say(
                    "(The text above is withdrawn. The answer follows.)\n", style="yellow"
                )
            self.has_shown_answer = False


def describe_step(step: Progress) -> str:
    """Return the name of a step, with its progress if it has several parts."""
    name = join_lines(step.note).capitalize()
    return f"{name}, {step.done} of {step.total}" if step.total > 1 else name


def note_empty_index(terminal: Terminal, knowledge_base: KnowledgeBase) -> None:
    """Note on standard error if the index has no documents."""
    if not knowledge_base.store.documents.document_count():
        terminal.note("The index is empty. Add documents with: knotwork index FOLDER")
