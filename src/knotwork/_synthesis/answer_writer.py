"""Have a language model write an answer from packed evidence, and check it.

The model is asked once. If it fails (no server, no budget, a reply that cites nothing), the
answer quotes sentences of the documents, with a note on the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial

from knotwork._config import AnswerSettings
from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatReply, ChatRequest
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._questions.reading import reading_of
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._synthesis.citations import cite_sentences
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.grounding.statement_check import StatementCheck
from knotwork._synthesis.memory_evidence import add_memory, fact_passages, stated_facts
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.prompt_context import (
    PromptPassage,
    holds_rows,
    make_request,
    pack_evidence,
)
from knotwork._synthesis.reply_reader import (
    ParsedReply,
    ReplyReader,
    may_become_unknown,
    parse_answer_reply,
)
from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.records import Answer, Evidence, MemoryCitation, StageUsage, Usage

SOURCES_SILENT = "sources_silent"
"""The reason if the model found no answer in the passages."""

ROWS_UNCITED = (
    "The language model was not asked: it must cite passages, and no passage states the rows."
)
NOT_ASKED = "The language model was not asked, as nothing was found."
ANSWER_STAGE = "answer"
ANSWER_OUTPUT_TOKENS = 600

_log = logging.getLogger("knotwork.synthesis")


class AnswerWriter:
    """Writes the answer to one question with a chat model, whose meter counts the cost.

    ``notes`` are put before those of the answer. Without ``fallback``, a failure of the model is
    raised instead of quoting sentences. ``memory`` are remembered facts, which the model may cite
    as it cites passages.
    """

    def __init__(
        self,
        model: CachedChatModel,
        *,
        store: Store,
        settings: AnswerSettings,
        prices: PriceTable | None = None,
        notes: Sequence[str] = (),
        fallback: bool = True,
        memory: Sequence[MemoryCitation] = (),
    ) -> None:
        self._model = model
        self._store = store
        self._settings = settings
        self._prices = prices or PriceTable()
        self._notes = tuple(notes)
        self._fallback = fallback
        self._memory = tuple(memory)

    def write(self, evidence: Evidence) -> Iterator[Progress]:
        """Yield the steps to an answer; the last event carries it.

        The model itself judges whether the passages answer. Without ``fallback``, raises ModelError
        as `ChatModel.stream`, or Unparsable. Raises ConfigError for an invalid setting.
        """
        quoted = compose_answer(evidence, store=self._store, settings=self._settings)
        passages = pack_evidence(evidence, budget_tokens=self._settings.context_tokens)
        if not passages and not self._memory:
            yield self.finish(quoted, NOT_ASKED)
            return
        if quoted.results and not holds_rows(evidence):
            yield self.finish(quoted, ROWS_UNCITED)
            return
        request = make_answer_request(quoted.question, passages, prompts_of(self._model))
        yield from self.write_from(request, passages, quoted)

    def write_from(
        self,
        request: ChatRequest,
        passages: Sequence[PromptPassage],
        quoted: Answer,
        *,
        notes: Sequence[str] = (),
    ) -> Iterator[Progress]:
        """Ask for an answer that cites ``passages``; ``quoted`` is used if the model fails.

        ``notes`` are put before those of the answer. Yields and raises as `write`.
        """
        quoted = replace(quoted, notes=(*notes, *quoted.notes))
        facts = fact_passages(self._memory)
        request = add_memory(request, facts, prompts_of(self._model), question=quoted.question)
        passages = [*passages, *facts]
        yield Progress(Stage.ASKED, note=self._model.name)
        unknown = no_answer(reading_of(quoted.question).language)
        numbered = {passage.number: passage for passage in passages}
        check = StatementCheck(numbered, question=quoted.question)
        showing = _StreamedText(ReplyReader(numbered, check=check), unknown)
        parse = partial(
            parse_answer_reply,
            passages=passages,
            question=quoted.question,
            unknown=unknown,
            check=check,
        )
        parsed, note = yield from self._receive(request, showing, parse)
        if parsed is not None and not parsed.is_unknown:
            if rest := showing.finish(is_cut=parsed.reply.finish_reason == "length"):
                yield Progress(Stage.TEXT, note=rest)
            yield self.finish(self._adopt(quoted, parsed), note)
            return
        if showing.has_shown:
            yield Progress(Stage.WITHDRAWN, note=note)
        yield self.finish(self.decline(quoted) if parsed else quoted, note)

    def _receive(
        self, request: ChatRequest, showing: _StreamedText, parse: partial[ParsedReply]
    ) -> Generator[Progress, None, tuple[ParsedReply | None, str]]:
        """Yield the pieces of the reply; return the parsed reply, or None, and a note."""
        parsed: ParsedReply | None = None
        try:
            for item in self._model.stream_checked(request, parse):
                if isinstance(item, ParsedReply):
                    parsed = item
                elif shown := showing.feed(item):
                    yield Progress(Stage.TEXT, note=shown)
        except (ModelError, StoreError) as error:
            return self._recover(error, showing, parse)
        return parsed, ""

    def _recover(
        self, error: KnotworkError, showing: _StreamedText, parse: partial[ParsedReply]
    ) -> tuple[ParsedReply | None, str]:
        """Return the reply if only caching it failed, else None, and a note on the error."""
        _log.info("no answer from %s: %s", self._model.name, error)
        if isinstance(error, StoreError):
            # Replies are cached once they are complete: this one is whole, and was paid for.
            if not showing.received:
                raise error
            try:
                return parse(ChatReply(showing.received)), f"The reply was not cached. {error}"
            except Unparsable as unparsable:
                error = unparsable
        if not self._fallback:
            raise error
        return None, f"Sentences are quoted, because {self._model.name} gave no answer: {error}"

    def _adopt(self, quoted: Answer, parsed: ParsedReply) -> Answer:
        citations = cite_sentences(parsed.cited, self._store)
        confidence = quoted.confidence
        if confidence is not None:
            confidence *= parsed.supported_share
        return replace(
            quoted,
            text=parsed.text,
            short="",
            answered=True,
            reason="",
            citations=citations,
            memory=stated_facts(parsed.remembered, self._memory),
            confidence=confidence if citations else None,
            model=self._model.name,
            notes=(*quoted.notes, *parsed.notes),
        )

    def decline(self, quoted: Answer) -> Answer:
        """Return the answer that nothing was found, citing the nearest passages."""
        return replace(
            quoted,
            text=no_answer(reading_of(quoted.question).language),
            short="",
            answered=False,
            reason=SOURCES_SILENT,
            model=self._model.name,
        )

    def finish(self, answer: Answer, note: str = "") -> Progress:
        """Return the last event, with the cost of the answer and all notes."""
        total = self._model.meter.total()
        usage = Usage(
            model_calls=total.calls,
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            reused_calls=total.reused,
            cached_tokens=total.cached_tokens,
            money=self._model.meter.money(self._prices),
            stages=tuple(
                StageUsage(
                    stage,
                    used.calls,
                    used.input_tokens,
                    used.output_tokens,
                    used.reused,
                    used.cached_tokens,
                )
                for stage, used in self._model.meter.by_stage().items()
            ),
        )
        notes = (*self._notes, *answer.notes, *([note] if note else ()))
        return Progress(Stage.FINISHED, value=replace(answer, usage=usage, notes=notes))


class _StreamedText:
    """The part of a streamed reply that can already be shown."""

    def __init__(self, reader: ReplyReader, unknown: str) -> None:
        self._reader = reader
        self._unknown = unknown
        self._held = ""
        self.received = ""
        self.has_shown = False

    def feed(self, piece: str) -> str:
        """Return the text to show next; "" while the reply may still be "no answer"."""
        if not self.received.strip():
            piece = piece.lstrip()
        self.received += piece
        self._held += self._reader.feed(piece)
        if not self.has_shown and may_become_unknown(self._reader.plain, self._unknown):
            return ""
        # Hold back white space: it may be the end of the reply, which is stripped.
        shown = self._held.rstrip()
        self._held = self._held[len(shown) :]
        self.has_shown = self.has_shown or bool(shown)
        return shown

    def finish(self, *, is_cut: bool) -> str:
        """Return the rest of a reply that is an answer; ``is_cut`` as in `ReplyReader.finish`."""
        rest = self._held + self._reader.finish(is_cut=is_cut)
        self._held = ""
        return rest if self.has_shown else rest.lstrip()


def make_answer_request(
    question: str, passages: Sequence[PromptPassage], prompts: OwnPrompts = BUILT_IN
) -> ChatRequest:
    """Return the request that asks a question of packed passages, in the question's language."""
    context = "\n".join(passage.text for passage in passages)
    return make_request(
        "answer", question, prompts, output_tokens=ANSWER_OUTPUT_TOKENS, context=context
    )
