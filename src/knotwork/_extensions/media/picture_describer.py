"""Have a model that sees describe the pictures of documents, many at a time.

A server may drop a picture without an error, and its model then describes what it imagines. So the
model is first shown a picture of a number: one that cannot read it describes nothing.
"""

from __future__ import annotations

import io
import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass, replace

from knotwork._cancellation import Cancellation, in_context, wait_for
from knotwork._indexing.loaders.loader import DescribablePicture
from knotwork._indexing.prepare import BLINDNESS_FIX, PICTURES_TASK, SourceFile, Undescribed
from knotwork._inference.call_cache import needs_call
from knotwork._inference.call_limits import PATIENCE, Patience
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    MessagePicture,
    complete_checked,
    concerns_one_request,
)
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_tags, restore
from knotwork._text.languages import prompt_language
from knotwork.errors import ModelError, ModelUnavailable, Unparsable

_NUMBER_TASK = "read-number"
_ROOM = "knotwork._extensions.media"
STAGE = "describe"
_OUTPUT_TOKENS = 400
_LONGEST = 2_000
"""Characters of a description; the prompt asks for far fewer."""
_NUMBER = "7403"
_NOTHING = re.compile(r"\W*(?:none|无|没有)\W*", re.IGNORECASE)
_TO_SENTENCE_END = re.compile(r".*[.!?。！？](?=\s|$|[^\x00-\x7f])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A description, or the ``fault`` of the reply, or the ``absence`` of one from the server."""

    description: str = ""
    fault: str = ""
    absence: str = ""


@dataclass(slots=True)
class _Open:
    """A document whose pictures are being described; without ``futures``, none of them is."""

    found: Undescribed
    futures: list[Future[_Outcome]]


class PictureDescriber:
    """Describes the pictures of documents in the order in which they were added, from one thread.

    A picture without a usable reply has no description. If no server answered, or the model does
    not see, its document lacks descriptions, so that the next run tries again. ``notes`` say so.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        concurrency: int = 8,
        patience: int = PATIENCE,
    ) -> None:
        self.model = model
        self._concurrency = concurrency
        self._patience = Patience(patience, what="for {count} pictures")
        self._pool: ThreadPoolExecutor | None = None
        self._waits = Cancellation()
        self._documents: deque[_Open] = deque()
        self._blindness: str | None = None
        self._unseen = 0
        self._faults: list[str] = []
        self._absences: list[str] = []

    @property
    def open(self) -> int:
        """The number of documents that were added and not taken."""
        return len(self._documents)

    @property
    def open_pictures(self) -> int:
        """The pictures of these documents."""
        return sum(len(document.found.pictures) for document in self._documents)

    @property
    def oldest(self) -> str:
        """The uri of the document that `take` returns next; "" if no document is open."""
        return self._documents[0].found.source.uri if self._documents else ""

    def begin(self, found: Undescribed) -> None:
        """Add a document. Raises ModelError for what concerns all pictures, such as a refused key.

        Waits for the first reply of the model, which shows whether it sees.
        """
        if self._blindness is None:
            try:
                self._blindness = find_blindness(self.model)
            except ModelUnavailable as error:
                self._patience.note(error.message)
                self._absences += [error.message] * len(found.pictures)
        futures: list[Future[_Outcome]] = []
        if self._blindness == "":
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._concurrency, "knotwork-describe")
                self._waits = Cancellation()
            uri, submit = found.source.uri, self._pool.submit
            futures = [
                submit(in_context(self._describe, waits=self._waits), p, uri)
                for p in found.pictures
            ]
        self._documents.append(_Open(found, futures))

    def is_ready(self) -> bool:
        """Return True if `take` would return immediately."""
        return bool(self._documents) and all(f.done() for f in self._documents[0].futures)

    def wait(self, seconds: float) -> bool:
        """Wait at most this long, and return True if `take` would return immediately."""
        if self._documents:
            wait_for_futures(self._documents[0].futures, timeout=seconds)
        return self.is_ready()

    def take(self) -> SourceFile:
        """Wait for the oldest document, and return it as it is to be prepared.

        Raises ModelError for what concerns all pictures: an exhausted budget, a refused key, and
        ModelUnavailable if the server has stopped answering.
        """
        done = self._documents.popleft()
        pictures = done.found.pictures
        known: dict[str, str] = {}
        if not done.futures:
            self._unseen += len(pictures) if self._blindness else 0
            return replace(done.found.described(known), lacks_descriptions=True)
        outcomes = [wait_for(future) for future in done.futures]
        for picture, outcome in zip(pictures, outcomes, strict=True):
            self._patience.note(outcome.absence)
            known[picture.key] = outcome.description
            if outcome.fault:
                self._faults.append(outcome.fault)
            if outcome.absence:
                self._absences.append(outcome.absence)
        lacks = any(outcome.absence for outcome in outcomes)
        return replace(done.found.described(known), lacks_descriptions=lacks)

    def close(self) -> None:
        """Drop the pictures that wait, and end the waits of calls in progress."""
        if self._pool is not None:
            self._waits.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._documents.clear()

    def plan(self, found: Undescribed) -> tuple[SourceFile, list[ChatRequest]]:
        """Return a document with the descriptions that are cached, and requests for the others."""
        known = {}
        requests = []
        for picture in found.pictures:
            request = picture_request(self.model, picture, found.source.uri)
            if needs_call(self.model, request):
                requests.append(request)
            else:
                known[picture.key] = self._describe(picture, found.source.uri).description
        return found.described(known), requests

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user about pictures that have no description."""
        notes = []
        if self._unseen:
            notes.append(
                f"{_count(self._unseen)} not described: {_ended(self._blindness or '')} "
                f"{BLINDNESS_FIX}"
            )
        if self._absences:
            notes.append(
                f"{_count(len(self._absences))} not described, as the model did not answer: "
                f"{_ended(self._absences[0])} The next run asks again."
            )
        if self._faults:
            held = len(self._faults)
            notes.append(f"{_count(held)} not described. The first reason: {self._faults[0]}")
        return tuple(notes)

    def _describe(self, picture: DescribablePicture, uri: str) -> _Outcome:
        request = picture_request(self.model, picture, uri)
        try:
            return _Outcome(complete_checked(self.model, request, read_description))
        except Unparsable as error:
            return _Outcome(fault=error.reason)
        except ModelUnavailable as error:
            return _Outcome(absence=error.message)
        except ModelError as error:
            if not _concerns_pictures(error):
                raise
            return _Outcome(fault=error.message)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def _count(pictures: int) -> str:
    return "1 picture was" if pictures == 1 else f"{pictures:,} pictures were"


def picture_request(model: ChatModel, picture: DescribablePicture, uri: str) -> ChatRequest:
    """Return the request for the description of a picture of a document."""
    blanks = {"context": escape_tags(picture.context)}
    language = prompt_language(picture.context)
    messages = fill_prompt(_ROOM, PICTURES_TASK, language, blanks, prompts_of(model))
    shown = MessagePicture(picture.data, picture.media_type, picture.width, picture.height)
    return _request(messages, shown, source=uri)


def _request(
    messages: tuple[Message, ...], picture: MessagePicture, *, source: str = ""
) -> ChatRequest:
    system, user = messages
    messages = (system, replace(user, pictures=(picture,)))
    return ChatRequest(messages, max_output_tokens=_OUTPUT_TOKENS, stage=STAGE, source=source)


def read_description(reply: ChatReply) -> str:
    """Return the description in a reply, in one line; "" if the picture shows nothing of use.

    Raises Unparsable for a reply that is empty, withheld, or cut off before its first full stop.
    """
    text = restore(" ".join(reply.text.split()))[:_LONGEST]
    if reply.finish_reason == "filter":
        raise Unparsable("The server withheld the reply.")
    if reply.finish_reason == "length" or len(text) == _LONGEST:
        whole = _TO_SENTENCE_END.match(text)
        if whole is None:
            raise Unparsable("The reply was cut off at its token limit.")
        text = whole[0]
    if not text:
        raise Unparsable("The reply is empty.")
    return "" if _NOTHING.fullmatch(text) else text


def find_blindness(model: ChatModel) -> str:
    """Return a sentence on why a model cannot see; "" if it reads a number in a picture.

    Raises ModelUnavailable without a reply, and ModelError for a refused key and the like.
    """
    messages = fill_prompt(_ROOM, _NUMBER_TASK, "en", {}, prompts_of(model))
    request = _request(messages, _drawn_number())
    try:
        return complete_checked(model, request, _read_number)
    except Unparsable as error:
        return f"`{model.name}` did not read the number in a picture. {error.reason}"
    except ModelError as error:
        if isinstance(error, ModelUnavailable) or not _concerns_pictures(error):
            raise
        return f"`{model.name}` takes no pictures: {error.message}"


def _concerns_pictures(error: ModelError) -> bool:
    return concerns_one_request(error) or (error.status or 0) >= 500


def _read_number(reply: ChatReply) -> str:
    if _NUMBER not in re.sub(r"\D", "", reply.text):
        said = " ".join(reply.text.split())[:80] or "nothing"
        raise Unparsable(f"It wrote: {said}")
    return ""


def _drawn_number() -> MessagePicture:
    from PIL import Image as Images
    from PIL import ImageDraw, ImageFont

    picture = Images.new("RGB", (256, 128), "white")
    font = ImageFont.load_default(72)
    ImageDraw.Draw(picture).text((36, 20), _NUMBER, font=font, fill="black")
    file = io.BytesIO()
    picture.save(file, "PNG")
    return MessagePicture(file.getvalue(), "image/png", *picture.size)
