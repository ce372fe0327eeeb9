"""Try a language model on what it is used for: how fast it is, and which of its replies are usable.

Each model reads two short texts for extraction and answers two questions, in English and Chinese.
A reply counts as it would in use: by the lines that are read, and the statements that the passages
say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from knotwork._config import LlmSettings
from knotwork._extensions.model_indexing.extraction_method import ChunkTask, ExtractionMethod
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    ServedChat,
    TokenUsage,
    estimate_input_tokens,
)
from knotwork._inference.model_registry import ChatModels, ModelRole, roles_by_model
from knotwork._synthesis.answer_writer import make_answer_request, parse_answer_reply
from knotwork._synthesis.messages import no_answer
from knotwork._synthesis.prompt_context import PromptPassage
from knotwork._text.languages import detect_language
from knotwork._text.sentences import split_sentences
from knotwork.errors import KnotworkError, ModelError, Unparsable
from knotwork.records import Chunk, Span

_HARBOUR = (
    "Marta Lind leads the harbour office in Tromsø, which opened in 2011. The office rents twelve "
    "cranes from Nordkran, a company in Bodø. In 2019 Nordkran was bought by Halden Group, whose "
    "chairman is Olav Rye. Ships over 200 metres need a pilot, and the pilot is ordered two hours "
    "ahead."
)
_HARBOUR_ZH = (
    "林婉清负责宁波港的调度中心，该中心于2011年启用。中心向位于舟山的海通公司租用十二台起重机。"
    "2019年，海通公司被东升集团收购，集团董事长是陈立民。长度超过200米的船舶需要引航员，"
    "引航员应提前两小时预约。"
)
_TEXTS = (
    (_HARBOUR, "How long ahead is a pilot ordered?"),
    (_HARBOUR_ZH, "引航员应当提前多久预约？"),
)
"""Two texts of the same kind, each with a question that it answers."""
_LEAST_RECORDS = 4
"""So many records of a text with nine facts make an extraction usable."""
_ANSWER_OUTPUT_TOKENS = 200


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that is set for some roles. ``window`` is its context in tokens, 0 if unknown.

    ``offered`` are the names of the models that its server lists, ``error`` says why it cannot.
    """

    name: str
    roles: tuple[ModelRole, ...]
    server: str
    window: int = 0
    offered: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one call: ``kind`` is "extraction" or "answer", ``language`` "en" or "zh".

    ``seconds`` is the whole time, ``first_s`` the time to the first piece of the reply.
    ``records`` counts the entities and relations of an extraction whose names are in the text.
    ``fault`` is why a reply cannot be used, "" if it can.
    """

    kind: str
    language: str
    usage: TokenUsage
    seconds: float
    first_s: float
    records: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ModelTrials:
    """All trials of a model. ``error`` is why there are no more of them."""

    model: ServedModel
    trials: tuple[Trial, ...] = ()
    error: str = ""

    @property
    def usage(self) -> TokenUsage:
        """The tokens of all calls."""
        return sum((trial.usage for trial in self.trials), TokenUsage())

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens written in a second, once the first piece has come; 0 if nothing was measured."""
        seconds = sum(trial.seconds - trial.first_s for trial in self.trials)
        return self.usage.output_tokens / seconds if seconds > 0 else 0.0

    @property
    def input_tokens_per_s(self) -> float:
        """Tokens read in a second, until the first piece of the first reply came.

        Servers keep the beginning of prompts, so that later calls are read faster.
        """
        first = next(iter(self.trials), None)
        return first.usage.input_tokens / first.first_s if first and first.first_s > 0 else 0.0

    def usable(self, kind: str = "") -> int:
        """Return the number of usable replies, of a kind or of all."""
        return sum(kind in ("", trial.kind) and not trial.fault for trial in self.trials)

    def tried(self, kind: str) -> int:
        """Return the number of replies of a kind."""
        return sum(trial.kind == kind for trial in self.trials)


def list_models(settings: LlmSettings) -> Iterator[ServedModel]:
    """Yield the models that are set, each once, with what their servers say of them.

    Contacts each server once and asks no model. A server that cannot be reached is an ``error``.
    """
    models = ChatModels(settings, retries=RetryPolicy(attempts=1))
    for own, its_roles in roles_by_model(settings).items():
        scheme, _, name = own.model.partition(":")
        at = "" if scheme == "gguf" else own.base_url
        found = ServedModel(own.model, tuple(its_roles), at, own.context_window)
        try:
            client = models.client(its_roles[0])
            if isinstance(client, ServedChat):
                listed = client.listed_models()
                window = found.window or client.context_window or listed.get(name, 0)
                found = replace(found, window=window, offered=tuple(sorted(listed)))
        except KnotworkError as error:
            found = replace(found, error=error.message)
        yield found


def try_models(settings: LlmSettings) -> Iterator[ModelTrials]:
    """Yield the trials of each model that is set: four calls each, none of them repeated."""
    models = ChatModels(settings, retries=RetryPolicy(attempts=1))
    for served in list_models(settings):
        trials: list[Trial] = []
        error = ""
        try:
            model = models.open(served.roles[0])
            assert model is not None, "models without a name are not listed"
            for trial in _try_model(model):
                trials.append(trial)  # noqa: PERF402  those before a failure are kept
        except KnotworkError as failed:
            error = failed.message
        yield ModelTrials(served, tuple(trials), error)


def estimate_trials(settings: LlmSettings) -> int:
    """Return about how many tokens `try_models` may use, input and output of all models.

    0 if no model is set.
    """
    requests = [request for text, question in _TEXTS for request in _requests(text, question)]
    most = sum(estimate_input_tokens(r) + (r.max_output_tokens or 0) for r in requests)
    return most * len(roles_by_model(settings))


def _requests(text: str, question: str) -> tuple[ChatRequest, ChatRequest]:
    """Return the requests for the extraction from a text, and for the answer to a question."""
    extraction = ExtractionMethod().request(ChunkTask(text, detect_language(text)))
    answer = replace(
        make_answer_request(question, [_passage(text)]), max_output_tokens=_ANSWER_OUTPUT_TOKENS
    )
    return extraction, answer


def _passage(text: str) -> PromptPassage:
    spans = tuple(split_sentences(text))
    chunk = Chunk("trial", "trial", "trial", 0, Span(0, len(text)), text, spans)
    return PromptPassage(1, chunk, spans, f"[1] {text}", spans[0])


_FIRST_WORD = ChatRequest((Message("user", "Say yes."),), max_output_tokens=1)
"""A server may load the model with the first call, which would count as slow reading."""


def _try_model(model: ChatModel) -> Iterator[Trial]:
    model.complete(_FIRST_WORD)
    for text, question in _TEXTS:
        language = detect_language(text)
        extraction, answer = _requests(text, question)
        trial, reply = _call(model, extraction, "extraction", language)
        records = _count_records(reply, text)
        fault = "" if records >= _LEAST_RECORDS else f"{records} records were read from it."
        yield replace(trial, records=records, fault=fault)
        trial, reply = _call(model, answer, "answer", language)
        try:
            parsed = parse_answer_reply(
                reply, [_passage(text)], question=question, unknown=no_answer(language)
            )
            fault = "It says that there is no answer." if parsed.is_unknown else ""
        except Unparsable as error:
            fault = error.reason
        yield replace(trial, fault=fault)


def _count_records(reply: ChatReply, text: str) -> int:
    """Return the number of records of an extraction whose names are in the text."""
    draft = ExtractionMethod().read(reply.text, cut=reply.finish_reason == "length")
    named = {(entity.name, entity.name) for entity in draft.entities}
    named |= {(relation.source, relation.target) for relation in draft.relations}
    plain = text.casefold()
    return sum(all(name.casefold() in plain for name in names) for names in named)


def _call(
    model: ChatModel, request: ChatRequest, kind: str, language: str
) -> tuple[Trial, ChatReply]:
    started = time.perf_counter()
    first = 0.0
    reply: ChatReply | None = None
    for item in model.stream(request):
        first = first or time.perf_counter() - started
        if isinstance(item, ChatReply):
            reply = item
    if reply is None:
        raise ModelError("The stream of the reply ended without the reply.")
    seconds = time.perf_counter() - started
    return Trial(kind, language, reply.usage.with_a_call(), seconds, first), reply
