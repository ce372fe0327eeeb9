"""Print answers, passages and query results, and stream an answer while a model writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from knotwork._cli.terminal import (
    EXCERPT_LENGTH,
    Terminal,
    count_of,
    join_lines,
    settled_length,
    shorten_excerpt,
    wrap_text,
)
from knotwork._retrieval.query_rows import (
    is_node,
    is_relationship,
    node_name,
    show_parameters,
    show_value,
)
from knotwork._run import Progress, Stage
from knotwork._shapes import results
from knotwork._text.visible import make_printable
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Citation,
    Document,
    Evidence,
    Hit,
    MemoryCitation,
    PropertyValue,
    QueryResult,
)

if TYPE_CHECKING:
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._stores.base import Store

_MOST_PATHS = 5
_MOST_ROWS = 20


def describe_evidence(evidence: Evidence, store: Store) -> dict[str, Any]:
    """Return the object of `search --json`. Its keys are a public interface: docs/json.md."""
    return {"query": evidence.query.text, **results.describe_evidence(evidence, store)}


def print_answer(
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
        terminal.say()
        terminal.say("Query", style="bold")
        if result.source == RETRIEVAL_QUERY:
            print_result(terminal, result)
        else:
            print_query(terminal, result)  # the text of the answer lists its rows
    if answer.citations or answer.memory:
        terminal.say()
        title = "Sources" if answer.answered else "Nearest passages"
        terminal.say(title, style="bold")
    for fact in answer.memory:
        print_memory(terminal, fact)
    for citation in answer.citations:
        print_citation(terminal, citation)
    terminal.notes(answer.notes, style="yellow")


def print_citation(terminal: Terminal, citation: Citation) -> None:
    """Print the place of a quote, and the quote."""
    place = [citation.document]
    section = citation.section.removeprefix(citation.title).removeprefix(" > ")
    if section:
        place.append(section)
    if citation.page:
        place.append(f"page {citation.page}")
    if citation.box:
        place.append(citation.box.text)
    if citation.time:
        place.append(citation.time.text)
    place.append(f"characters {citation.span.start}-{citation.span.end}")
    terminal.say(f"[{citation.number}] {join_lines(', '.join(place))}", style="cyan")
    terminal.say(f"“{shorten_excerpt(citation.quote)}”", indent=4)


def print_memory(terminal: Terminal, fact: MemoryCitation) -> None:
    """Print where a remembered fact was stated, and the fact with its period."""
    source = f", {join_lines(fact.source)}" if fact.source else ""
    terminal.say(f"[M{fact.number}] remembered{source}", style="cyan")
    terminal.say(f"“{shorten_excerpt(fact.text)}”", indent=4)


def print_answer_usage(terminal: Terminal, answer: Answer) -> None:
    """Note the retriever, confidence, time and cost of an answer on standard error."""
    parts = [describe_retrieval(answer)]
    if answer.confidence is not None:
        parts.append(f"confidence {answer.confidence:.2f} ({answer.strength})")
    parts += [f"{answer.usage.seconds * 1000:.0f} ms", describe_cost(answer)]
    terminal.note(", ".join(parts), style="dim")


def describe_retrieval(answer: Answer) -> str:
    """Return the retriever of an answer, after its mode unless that is `basic`."""
    if answer.mode in ("basic", answer.retriever):
        return answer.retriever
    return f"{answer.mode}, {answer.retriever}"


def describe_cost(answer: Answer) -> str:
    """Return the tokens and calls of an answer, its cost if known, and the tokens by stage."""
    usage = answer.usage
    tokens = usage.input_tokens + usage.output_tokens
    if not usage.model_calls and not usage.reused_calls:
        return f"{tokens} model tokens"
    calls = [count_of(usage.model_calls, "call")] if usage.model_calls else []
    calls += [f"{usage.reused_calls:,} cached"] if usage.reused_calls else []
    cached = f", {usage.cached_tokens:,} of them cached" if usage.cached_tokens else ""
    text = (
        f"{tokens:,} model tokens ({usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out) "
        f"in {' and '.join(calls)}"
    )
    if usage.model_calls and usage.money is not None:
        text += f", cost {usage.money.normalize():f}"
    paid = [item for item in usage.stages if item.model_calls]
    if len(paid) > 1:
        parts = [f"{item.stage} {item.input_tokens + item.output_tokens:,}" for item in paid]
        text += f": {', '.join(parts)}"
    return text


def print_evidence(
    terminal: Terminal, evidence: Evidence, documents: Mapping[str, Document], *, explain: bool
) -> None:
    """Print the results of queries, the paths and the hits.

    ``explain`` adds why each hit was found, and the steps of the retriever.
    """
    for result in evidence.results:
        print_result(terminal, result)
    for number, path in enumerate(evidence.paths[:_MOST_PATHS], start=1):
        score = f"  {path.score:.3f}" if explain else ""
        terminal.say(f"path {number}: {join_lines(path.text)}{score}", style="magenta")
    if not evidence.hits and not evidence.results:
        terminal.say("No passage found.")
    for rank, hit in enumerate(evidence.hits, start=1):
        document = documents.get(hit.chunk.document_id)
        place = [document.uri if document else hit.chunk.document_title]
        place += [heading for heading in hit.chunk.headings[-1:] if heading not in place]
        terminal.say(f"{rank}. {join_lines(', '.join(place))}  {hit.score:.3f}", style="cyan")
        terminal.say(shorten_excerpt(choose_excerpt(hit)), indent=4)
        if explain:
            print_reasons(terminal, hit)
    for step in evidence.trace if explain else ():
        terminal.say(f"· {join_lines(step)}", style="dim")
    terminal.notes(evidence.notes, style="dim")


def print_query(terminal: Terminal, result: QueryResult) -> None:
    """Print a query, its parameters, and the graph or tables it read."""
    terminal.say(join_lines(result.statement), style="cyan")
    if result.parameters:
        terminal.say(f"with {join_lines(show_parameters(result))}", style="dim", indent=4)
    if result.place:
        rows = _describe_sources(result)
        terminal.say(f"on {join_lines(result.place)}{rows}", style="dim", indent=4)


def _describe_sources(result: QueryResult) -> str:
    """Return the number of file rows behind a result, with the first row numbers."""
    if result.row_count is None:
        return ""
    numbers = ", ".join(str(source.row) for source in result.row_sources)
    more = ", …" if len(result.row_sources) < result.row_count else ""
    listed = f" ({numbers}{more})" if numbers else ""
    return f", from {count_of(result.row_count, 'row')}{listed}"


def print_result(terminal: Terminal, result: QueryResult) -> None:
    """Print a query and up to 20 of its rows."""
    print_query(terminal, result)
    rows = show_rows(result.rows)
    terminal.table(rows[:_MOST_ROWS], header=result.columns, indent=4)
    rest = len(rows) - _MOST_ROWS
    if not rows:
        terminal.say("no rows", indent=4)
    elif rest > 0 or result.truncated:
        more = f"{max(rest, 0):,} more rows" if rest > 0 else "more rows"
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


def print_reasons(terminal: Terminal, hit: Hit) -> None:
    """Print why a hit was found: its seeds, its evidence path and the parts of its score."""
    if hit.seeds:
        terminal.say(f"from the question: {join_lines(', '.join(hit.seeds))}", indent=4)
    for step in hit.path:
        sentence = shorten_excerpt(step.sentence_text)
        terminal.say(f"over “{join_lines(step.entity_name)}” in: {sentence}", indent=4)
    if hit.scores:
        parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
        terminal.say(f"score {hit.score:.3f} = {parts}", style="dim", indent=4)


def choose_excerpt(hit: Hit) -> str:
    """Return the text of a hit, from its best sentence on if the text is long."""
    if not hit.sentences:
        return hit.chunk.text
    (start, _), _ = hit.sentences[0]
    offset = max(start - hit.chunk.span.start, 0)
    if len(hit.chunk.text) <= EXCERPT_LENGTH or offset >= len(hit.chunk.text):
        return hit.chunk.text
    return ("… " if offset else "") + hit.chunk.text[offset:]


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


def find_documents(knowledge_base: KnowledgeBase, evidence: Evidence) -> dict[str, Document]:
    """Return the documents of the hits, by id."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    return knowledge_base.store.documents.documents(ids)


def note_empty_index(terminal: Terminal, knowledge_base: KnowledgeBase) -> None:
    """Note on standard error if the index has no documents."""
    if not knowledge_base.store.documents.document_count():
        terminal.note("The index is empty. Add documents with: knotwork index FOLDER")
