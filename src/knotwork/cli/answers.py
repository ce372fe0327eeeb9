"""Print answers, passages and query results, and stream an answer while a model writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from knotwork.cli.json_output import DocumentsById
from knotwork.cli.terminal import (
    EXCERPT_LENGTH,
    Terminal,
    count_of,
    join_lines,
    make_printable,
    shorten_excerpt,
)
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Citation,
    Evidence,
    Hit,
    PropertyValue,
    QueryResult,
)
from knotwork.retrieval.queries.query_rows import (
    is_node,
    is_relationship,
    node_name,
    show_parameters,
    show_value,
)
from knotwork.synthesis.ask_request import AskEvent, AskEventKind

_MOST_PATHS = 5
_MOST_ROWS = 20


def print_answer(
    terminal: Terminal, answer: Answer, *, needed: float, is_shown: bool = False
) -> None:
    """Print an answer and its sources, or that there is none and the nearest passages.

    ``needed`` is the confidence below which no answer is given. ``is_shown`` says that the text is
    there, and the sources are not.
    """
    from knotwork.synthesis.extractive_answers import LOW_CONFIDENCE
    from knotwork.synthesis.messages import low_confidence
    from knotwork.text.languages import detect_language

    if not is_shown:
        terminal.say(answer.text, lead=answer.short, style="" if answer.answered else "yellow")
    if answer.reason == LOW_CONFIDENCE and answer.confidence is not None:
        language = detect_language(answer.question)
        terminal.say(low_confidence(language, found=answer.confidence, needed=needed))
    for result in answer.results:
        terminal.say()
        terminal.say("Query", style="bold")
        if result.source == RETRIEVAL_QUERY:
            print_result(terminal, result)
        else:
            print_query(terminal, result)  # its rows are the text of the answer
    if answer.citations:
        terminal.say()
        title = "Sources" if answer.answered else "Nearest passages"
        terminal.say(title, style="bold")
    for citation in answer.citations:
        print_citation(terminal, citation)
    for note in answer.notes:
        terminal.note(note, style="yellow")


def print_citation(terminal: Terminal, citation: Citation) -> None:
    """Print where a quote stands, and the quote."""
    place = [citation.document]
    section = citation.section.removeprefix(citation.title).removeprefix(" > ")
    if section:
        place.append(section)
    if citation.page:
        place.append(f"page {citation.page}")
    place.append(f"characters {citation.span.start}-{citation.span.end}")
    terminal.say(f"[{citation.number}] {join_lines(', '.join(place))}", style="cyan")
    terminal.say(f"“{shorten_excerpt(citation.quote)}”", indent=4)


def print_answer_usage(terminal: Terminal, answer: Answer) -> None:
    """Note on standard error what the answer cost."""
    parts = [describe_retrieval(answer)]
    if answer.confidence is not None:
        parts.append(f"confidence {answer.confidence:.2f} ({answer.strength})")
    parts += [f"{answer.usage.seconds * 1000:.0f} ms", describe_cost(answer)]
    terminal.note(", ".join(parts), style="dim")


def describe_retrieval(answer: Answer) -> str:
    """Return how passages were found, and the mode of the answer if that is not the plain one."""
    if answer.mode in ("basic", answer.retriever):
        return answer.retriever
    return f"{answer.mode}, {answer.retriever}"


def describe_cost(answer: Answer) -> str:
    """Return what was paid for an answer: tokens, and for which calls, and the money if known."""
    usage = answer.usage
    tokens = usage.input_tokens + usage.output_tokens
    if not usage.model_calls and not usage.reused_calls:
        return f"{tokens} model tokens"
    calls = [count_of(usage.model_calls, "call")] if usage.model_calls else []
    calls += [f"{usage.reused_calls:,} reused"] if usage.reused_calls else []
    text = (
        f"{tokens:,} model tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out) "
        f"in {' and '.join(calls)}"
    )
    if usage.model_calls and usage.money is not None:
        text += f", {usage.money.normalize():f} of money"
    paid = [item for item in usage.stages if item.model_calls]
    if len(paid) > 1:
        parts = [f"{item.stage} {item.input_tokens + item.output_tokens:,}" for item in paid]
        text += f": {', '.join(parts)}"
    return text


def print_evidence(
    terminal: Terminal, evidence: Evidence, documents: DocumentsById, *, explain: bool
) -> None:
    """Print what statements gave back, paths, and the hits; ``explain`` also tells why each is
    here, and what the retriever did.
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
    for note in evidence.notes:
        terminal.note(note, style="dim")


def print_query(terminal: Terminal, result: QueryResult) -> None:
    """Print a statement, its parameters and what it read."""
    terminal.say(join_lines(result.statement), style="cyan")
    if result.parameters:
        terminal.say(f"with {join_lines(show_parameters(result))}", style="dim", indent=4)
    if result.place:
        rows = _describe_sources(result)
        terminal.say(f"on {join_lines(result.place)}{rows}", style="dim", indent=4)


def _describe_sources(result: QueryResult) -> str:
    """Return how many rows of files a result was computed from, with the first numbers."""
    if result.row_count is None:
        return ""
    numbers = ", ".join(str(source.row) for source in result.row_sources)
    more = ", …" if len(result.row_sources) < result.row_count else ""
    listed = f" ({numbers}{more})" if numbers else ""
    return f", from {count_of(result.row_count, 'row')}{listed}"


def print_result(terminal: Terminal, result: QueryResult) -> None:
    """Print a statement and its rows."""
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
    """Return rows as a person reads them: a node by its labels and its name, and so a relation."""
    return [tuple(map(_show_value, row)) for row in rows]


def _show_value(value: PropertyValue) -> str:
    """Return a value as text; unlike in answers, nodes and relationships are marked as such."""
    if is_node(value):
        return f"({''.join(f':{label}' for label in value['labels'])} {node_name(value)})"
    if is_relationship(value):
        return f"[:{value['type']} {value['properties'].get('relation', '')}".rstrip() + "]"
    return show_value(value)


def print_reasons(terminal: Terminal, hit: Hit) -> None:
    """Print the seeds, the path and the parts of the score of a hit."""
    if hit.seeds:
        terminal.say(f"from the question: {join_lines(', '.join(hit.seeds))}", indent=4)
    for step in hit.path:
        sentence = shorten_excerpt(step.sentence_text)
        terminal.say(f"over “{join_lines(step.entity_name)}” in: {sentence}", indent=4)
    if hit.scores:
        parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
        terminal.say(f"score {hit.score:.3f} = {parts}", style="dim", indent=4)


def choose_excerpt(hit: Hit) -> str:
    """Return the part of a hit's text that begins with its best sentence."""
    if not hit.sentences:
        return hit.chunk.text
    (start, _), _ = hit.sentences[0]
    offset = max(start - hit.chunk.span.start, 0)
    if len(hit.chunk.text) <= EXCERPT_LENGTH or offset >= len(hit.chunk.text):
        return hit.chunk.text
    return ("… " if offset else "") + hit.chunk.text[offset:]


class StreamedText:
    """Writes a text that grows to standard output, in the lines that it would have when whole."""

    def __init__(self, terminal: Terminal) -> None:
        self._out = terminal.out
        self._text = ""
        self._written = ""

    def add(self, piece: str) -> None:
        """Write what of the text so far will stay where it is: its last word may yet grow."""
        from knotwork.cli.terminal import settled_length

        self._text += piece
        shown = make_printable(self._text).expandtabs()
        self._write(shown[: settled_length(shown)])

    def end(self) -> None:
        """Write the rest, and end the line; does nothing to a text that never began."""
        if self._text:
            self._write(make_printable(self._text).expandtabs())
            self._out.file.write("\n")
            self._out.file.flush()
            self._text = self._written = ""

    def _write(self, text: str) -> None:
        from knotwork.cli.terminal import wrap_text

        wrapped = "\n".join(wrap_text(text, self._out.width))
        self._out.file.write(wrapped[len(self._written) :])
        self._out.file.flush()
        self._written = wrapped


class AnswerView:
    """Shows the events of one question while it is open.

    The name of the model stands on standard error while somebody watches that; the words go to
    standard output if that is a terminal, else they are left to whoever prints the answer.
    ``has_shown_answer`` says that all of the answer's text is there.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.close()
        self._text.end()

    def _show_status(self, label: str) -> None:
        if self._has_status:
            self._status.close()
            self._status.enter_context(self._terminal.err.status(label))

    def show(self, event: AskEvent) -> None:
        """Show the next step."""
        if event.kind is AskEventKind.ASKED:
            self._show_status(f"Asking {join_lines(event.text)}")
        elif event.kind is AskEventKind.STEP:
            self._show_status(f"{describe_step(event)} …")
        elif event.kind is AskEventKind.TEXT and self._streams:
            self._status.close()
            self._text.add(event.text)
            self.has_shown_answer = True
        elif event.kind is AskEventKind.WITHDRAWN:
            self._status.close()
            self._text.end()
            if self.has_shown_answer:
                self._terminal.say(
                    "(This text is withdrawn; the answer follows.)\n", style="yellow"
                )
            self.has_shown_answer = False


def describe_step(event: AskEvent) -> str:
    """Return a step before the answer in words, with how far it is."""
    name = join_lines(event.text).capitalize()
    return f"{name}, {event.done} of {event.total}" if event.total > 1 else name


def find_documents(knowledge_base: KnowledgeBase, evidence: Evidence) -> DocumentsById:
    """Return the documents of the hits by id."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    return knowledge_base.store.documents.documents(ids)


def note_empty_index(terminal: Terminal, knowledge_base: KnowledgeBase) -> None:
    """Say on standard error why nothing can be found in an index without documents."""
    if not knowledge_base.store.documents.document_count():
        terminal.note("The index is empty. Add documents with: knotwork index FOLDER")
