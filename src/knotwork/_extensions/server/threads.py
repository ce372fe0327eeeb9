"""The threads of each key of a server: its questions in a workspace, with their answers.

A thread is a file in a folder of its key, which nobody else reads. Its first line says what it is,
so that a list of threads does not read their turns. They are deleted with the workspace.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from knotwork._extensions.server.job_store import utc_now
from knotwork._extensions.server.keys import AccessKey
from knotwork._extensions.server.private_files import write_private
from knotwork._extensions.server.workspaces import Workspace
from knotwork._shapes.base import Json, fields_of
from knotwork._shapes.results import ANSWER
from knotwork._synthesis.follow_ups import understood_question
from knotwork.errors import Conflict, NotFound
from knotwork.records import Answer

FOLDER = "threads"
MOST_THREADS = 500
"""Threads of one key in a workspace."""
MOST_TURNS = 100
MOST_THREAD_BYTES = 4_000_000
LONGEST_TITLE = 200
_LOCAL = "local"
_ID = re.compile("[0-9a-f]{16}")
_SUFFIX = ".thread"
_changing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread; ``updated`` is the time of its last change in UTC.

    A turn has a ``question``, how it was ``understood``, and its ``answer`` in the shape `ANSWER`.
    """

    id: str
    title: str
    turns: tuple[Json, ...] = ()
    updated: str = ""

    def before(self) -> tuple[tuple[str, str], ...]:
        """Return its questions as they were understood, with the texts of their answers."""
        return tuple((turn["understood"], _text_of(turn)) for turn in self.turns)


def _text_of(turn: Json) -> str:
    return str(turn["answer"].get("answer", ""))


class ThreadsOfKey:
    """The threads of a key in a workspace."""

    def __init__(self, workspace: Workspace, key: AccessKey) -> None:
        self._folder = workspace.files / FOLDER / (key.id or _LOCAL)

    def listed(self) -> list[dict[str, Any]]:
        """Return the id, title, number of turns and time of each thread, the newest first."""
        heads = []
        for path in self._paths():
            with path.open(encoding="utf8") as file:
                heads.append(json.loads(file.readline()))
        return sorted(heads, key=lambda head: (head["updated"], head["id"]), reverse=True)

    def find(self, identifier: str) -> Thread:
        """Return a thread. Raises NotFound."""
        path = self._path(identifier)
        try:
            head, turns = path.read_text("utf8").splitlines()
        except FileNotFoundError:
            raise _unknown(identifier) from None
        return Thread(**{**json.loads(head), "turns": tuple(json.loads(turns))})

    def create(self, title: str, turns: Sequence[Json] = ()) -> Thread:
        """Store a new thread. Raises Conflict if the key has as many as it may."""
        with _changing:
            if sum(1 for _ in self._paths()) >= MOST_THREADS:
                raise Conflict(
                    f"This key has {MOST_THREADS:,} threads in this workspace, the most it may.",
                    fix="Delete threads that you no longer need: DELETE …/threads/{id}",
                )
            return self._write(Thread(secrets.token_hex(8), title, tuple(turns)))

    def change(
        self,
        identifier: str,
        *,
        title: str | None = None,
        turns: Sequence[Json] | None = None,
        answer: Answer | None = None,
    ) -> Thread:
        """Give a thread another title, other turns, or one more for an answer.

        Raises NotFound, and Conflict for a thread that is too long.
        """
        with _changing:
            known = self.find(identifier)
            kept = known.turns if turns is None else tuple(turns)
            if answer is not None:
                turn = {
                    "question": answer.question,
                    "understood": understood_question(answer),
                    "answer": to_jsonable_python(ANSWER(answer)),
                }
                kept = (*kept, turn)
            named = known.title if title is None else title
            if not named and kept:
                named = kept[0]["question"][:LONGEST_TITLE]
            return self._write(replace(known, title=named, turns=kept))

    def check_room(self, thread: Thread) -> None:
        """Raise Conflict if a thread has as many turns as it may."""
        if len(thread.turns) >= MOST_TURNS:
            raise _too_long()

    def delete(self, identifier: str) -> Thread:
        """Delete a thread. Raises NotFound."""
        with _changing:
            found = self.find(identifier)
            self._path(identifier).unlink()
            return found

    def _write(self, thread: Thread) -> Thread:
        stored = replace(thread, updated=utc_now())
        lines = ({**fields_of(stored), "turns": len(stored.turns)}, stored.turns)
        body = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        if len(stored.turns) > MOST_TURNS or len(body) > MOST_THREAD_BYTES:
            raise _too_long()
        write_private(self._path(stored.id), body)
        return stored

    def _paths(self) -> list[Path]:
        return [p for p in self._folder.glob(f"*{_SUFFIX}") if not p.name.startswith(".")]

    def _path(self, identifier: str) -> Path:
        if not _ID.fullmatch(identifier):
            raise _unknown(identifier)
        return self._folder / f"{identifier}{_SUFFIX}"


def _unknown(identifier: str) -> NotFound:
    return NotFound(f"Unknown thread `{identifier}`.", fix="List the threads: GET …/threads")


def _too_long() -> Conflict:
    return Conflict(
        f"A thread holds at most {MOST_TURNS} turns and {MOST_THREAD_BYTES:,} bytes.",
        fix="Start a new thread: POST …/threads",
    )


def _listed(answer: Json, name: str) -> list[Json]:
    """Return the records under a name: whoever stores an answer may give it any content."""
    found = answer.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def as_markdown(title: str, turns: Iterable[Json]) -> str:
    """Return a thread as Markdown, each answer with the facts and the sources that it cites."""
    parts = [f"# {title}"]
    for turn in turns:
        answer = turn["answer"]
        understood, short = turn["understood"], answer.get("short")
        facts = _listed(answer, "memory")
        sources = [f"- [M{fact.get('number')}] {fact.get('text')}" for fact in facts]
        for cited in _listed(answer, "citations"):
            page = cited.get("page")
            names = (cited.get("title"), cited.get("document"), cited.get("section"))
            place = dict.fromkeys(map(str, filter(None, (*names, page and f"p. {page}"))))
            quote = " ".join(str(cited.get("quote", "")).split())
            sources.append(f"- [{cited.get('number')}] {', '.join(place)}: {quote}")
        parts += (
            f"## {turn['question']}",
            f"*{understood}*" if understood not in ("", turn["question"]) else "",
            f"**{short}**" if short else "",
            _text_of(turn),
            "\n".join(sources),
        )
    return "\n\n".join(filter(None, parts)) + "\n"
