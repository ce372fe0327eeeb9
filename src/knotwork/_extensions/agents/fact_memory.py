"""Store facts of conversations, each with its owner and the time span in which it holds.

An entity has one value of most relations at a time (where somebody lives, what a project costs):
a new value ends the old fact at the time from which the new one holds. Relations with many values
(knows, likes) end nothing. Facts may be added in any order of their times. Adding one never deletes
facts of other times, so the past can be queried. Facts of one owner never show, end or change those
of another: every statement here names the owner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from knotwork._companions import FACT_TABLES, Companion, CompanionDatabase, SqliteCompanion
from knotwork._extensions.agents.fact_rules import is_chinese, state_fact, state_times
from knotwork._extensions.agents.moments import contains, is_before, period_of
from knotwork._sqlite_file import (
    FILE_KINDS,
    IN_MEMORY,
    MEMORY_SUFFIX,
    SqliteFile,
    is_empty,
    repair_advice,
    sync_journal,
    write_transaction,
)
from knotwork._stores.base import Store, companions_of
from knotwork._synthesis.memory_evidence import SPEAKER
from knotwork._text.names import normal_form
from knotwork.records import MemoryCitation, content_id

MANY_VALUED = frozenset(
    {"knows", "likes", "speaks", "visited", "has visited", "owns", "read", "uses", "met"}
)
"""Relations of which an entity may have several values at once."""

LOCAL_OWNER = ""
"""The owner of facts that were stated on this machine rather than with a key of a server."""


_COLUMNS = "subject, relation, object, valid_from, valid_to, source"


def _prepare(_file: SqliteFile, connection: apsw.Connection) -> None:
    if is_empty(connection):
        with write_transaction(connection):
            connection.execute(FACT_TABLES)  # another process may have been first


def _advise(path: str) -> str:
    return repair_advice(Path(path.removesuffix(MEMORY_SUFFIX)))


FACTS = Companion(
    FILE_KINDS[MEMORY_SUFFIX], MEMORY_SUFFIX, _advise, sync_journal, _prepare, busy_timeout_s=5.0
)
"""Facts of conversations."""


_FIRST_PERSON = re.compile("me|myself|我")
"""Names of the person who stated facts; "ME" may be an abbreviation."""


@dataclass(frozen=True, slots=True)
class RememberedFact:
    """A fact that holds from ``valid_from`` until before ``valid_to`` (None: until now).

    Times are moments with the precision that they were stated with: 2021, 2021-05, 2021-05-01 or
    2021-05-01T09:30, and "" for an unknown beginning. They are compared as periods, see
    `knotwork._text.dates`. ``source`` is where it was stated.
    """

    subject: str
    relation: str
    object: str
    valid_from: str
    valid_to: str | None = None
    source: str = ""

    def holds_at(self, moment: str) -> bool:
        """Return True if the fact holds at some time of a moment.

        A fact that ended in 2021 no longer holds in 2021, and one that ended in May 2021 does.
        """
        period = period_of(moment)
        begins = period_of(self.valid_from).start
        if begins > period.start and begins >= period.end:
            return False
        return self.valid_to is None or period.start < period_of(self.valid_to).start

    def covers(self, moment: str) -> bool:
        """Return True if a moment is not before the beginning of the fact, and before its end."""
        return not is_before(moment, self.valid_from) and (
            self.valid_to is None or is_before(moment, self.valid_to)
        )

    @property
    def id(self) -> str:
        """16 hexadecimal digits that identify the fact among those of its owner."""
        return content_id(*_key(self))

    @property
    def sentence(self) -> str:
        """The fact as a sentence that calls the user "you", without its times and a full stop."""
        return state_fact(self.subject, self.relation, self.object)

    @property
    def text(self) -> str:
        """The sentence with the times of the fact."""
        times = state_times(self.relation, self.valid_from, self.valid_to)
        if not times:
            return self.sentence
        is_wide = is_chinese(self.relation)
        return f"{self.sentence}（{times}）" if is_wide else f"{self.sentence} ({times})"

    def cite(self, number: int) -> MemoryCitation:
        """Return the fact as a source of an answer, with a sentence that states it."""
        return MemoryCitation(
            number,
            *(self.subject, self.relation, self.object),
            *(self.valid_from, self.valid_to, self.source),
            text=f"{self.text}{'。' if is_chinese(self.relation) else '.'}",
        )


def open_facts(store: Store) -> FactMemory:
    """Open the facts of an index's conversations. Raises as `FactMemory`."""
    return FactMemory(companions_of(store).open(FACTS))


class FactMemory:
    """Facts of one owner, in a companion of an index, in a file, or in memory. Thread-safe.

    ``owner`` is "" for the user of this machine, and the id of a key for a client of a server.
    `owned_by` returns the facts of another owner in the same database.

    Raises StoreError if the file cannot be opened, and every method that writes raises it if that
    fails: StoreReadOnly for a file that is not writable. Then nothing has changed.
    """

    def __init__(
        self,
        place: CompanionDatabase | Path | str = IN_MEMORY,
        *,
        owner: str = LOCAL_OWNER,
        many_valued: Iterable[str] = MANY_VALUED,
    ) -> None:
        self.owner = owner
        self._many_valued = frozenset(normal_form(relation) for relation in many_valued)
        if isinstance(place, str | Path):
            place = SqliteCompanion(str(place), FACTS)
        self._tables = place

    def close(self) -> None:
        """Close the database, which all its owners share."""
        self._tables.close()

    def owned_by(self, owner: str) -> FactMemory:
        """Return the facts of another owner in this database."""
        return FactMemory(self._tables, owner=owner, many_valued=self._many_valued)

    def check_writable(self) -> None:
        """Raise StoreReadOnly if facts cannot be stored, and StoreError if writing fails."""
        self._tables.check_writable()

    def copy(self) -> FactMemory:
        """Return a copy in memory, which is not saved."""
        copied = FactMemory(owner=self.owner, many_valued=self._many_valued)
        with copied.transaction():
            for fact in self.facts():
                copied._insert(fact, _forms(fact))
        return copied

    def transaction(self) -> AbstractContextManager[None]:
        """Commit the writes of the block together, or none of them if it fails.

        A transaction within another one ends with that one.
        """
        return self._tables.transaction()

    def learn(self, fact: RememberedFact) -> tuple[RememberedFact, ...]:
        """Add a fact, and return the facts that it ended, with their end.

        A fact that already holds at that time changes nothing. If the relation has one value and a
        fact of a later time is known, the new fact ends where that one begins.
        """
        with self.transaction():
            closed = self._add(fact)
        return closed  # noqa: RET504  the transaction ends first

    def end(self, subject: str, relation: str, object_: str, *, at: str) -> int:
        """End this fact at a time if it holds then, and return the number of facts ended."""
        with self.transaction():
            ended = [
                self._close(known, at) for known in self.ending(subject, relation, object_, at=at)
            ]
        return len(ended)

    def ending(self, subject: str, relation: str, object_: str, *, at: str) -> list[RememberedFact]:
        """Return the facts that `end` would end."""
        wanted = normal_form(object_)
        return [
            known
            for known in self.history(subject, relation)
            if normal_form(known.object) == wanted
            # It begins before or within that moment.
            and (known.valid_to is None or is_before(at, known.valid_to))
            and (not is_before(at, known.valid_from) or contains(at, known.valid_from))
        ]

    def holds(self, fact: RememberedFact) -> bool:
        """Return True if a fact is known to hold from its beginning, or more precisely than it."""
        wanted = normal_form(fact.object)
        return any(
            known.covers(fact.valid_from)
            or (fact.valid_from and contains(fact.valid_from, known.valid_from))
            for known in self.history(fact.subject, fact.relation)
            if normal_form(known.object) == wanted
        )

    def retract(self, fact: RememberedFact) -> bool:
        """Remove a fact as if it had never been added; a fact that it ended continues.

        Return False if the fact is unknown.
        """
        forms = _forms(fact)
        with self.transaction():
            known = self._of_key(forms[0], forms[1])
            held = next((k for k in known if _key(k) == _key(fact)), None)
            if held is None:
                return False
            is_single = forms[1] not in self._many_valued
            closed = [k for k in known if is_single and k.valid_to == held.valid_from]
            self._delete(held)
            for before in closed:
                self._close(before, held.valid_to)
        return True

    def forget(self, name: str) -> int:
        """Delete all facts with this subject or object, and return their number.

        "me" and 我 are the person who stated them.
        """
        form = _form_of(name)
        with self.transaction():
            return self._tables.change(
                "DELETE FROM fact WHERE owner = $1 AND (subject_form = $2 OR object_form = $2)",
                (self.owner, form),
            )

    def clear(self) -> int:
        """Delete all facts of the owner, and return their number."""
        with self.transaction():
            return self._tables.change("DELETE FROM fact WHERE owner = $1", (self.owner,))

    def count(self) -> int:
        """Return the number of facts, including those that no longer hold."""
        ((number,),) = self._tables.rows(
            "SELECT count(*) FROM fact WHERE owner = $1", (self.owner,)
        )
        return int(number)

    def facts(self, *, at: str | None = None) -> list[RememberedFact]:
        """Return all facts, or those that hold at a time, by subject, relation and time."""
        rows = self._tables.rows(
            f"SELECT {_COLUMNS} FROM fact WHERE owner = $1",  # noqa: S608  a constant
            (self.owner,),
        )
        facts = sorted(map(_read, rows), key=_place)
        return [fact for fact in facts if at is None or fact.holds_at(at)]

    def about(
        self, names: Sequence[str], *, at: str | None = None, limit: int = 20
    ) -> list[RememberedFact]:
        """Return facts with one of these names as subject or object, newest first.

        "me" and 我 are the person who stated them. With ``at``, only facts that hold at that time.
        """
        forms = list(dict.fromkeys(form for name in names if (form := _form_of(name))))
        if not forms:
            return []
        blanks = ", ".join(f"${number}" for number in range(2, len(forms) + 2))
        statement = (
            f"SELECT {_COLUMNS} FROM fact"  # noqa: S608  columns and blanks alone
            f" WHERE owner = $1 AND (subject_form IN ({blanks}) OR object_form IN ({blanks}))"
            " ORDER BY subject, relation, object"
        )
        facts = [_read(row) for row in self._tables.rows(statement, (self.owner, *forms))]
        facts.sort(key=lambda fact: period_of(fact.valid_from), reverse=True)
        return [fact for fact in facts if at is None or fact.holds_at(at)][:limit]

    def history(self, subject: str, relation: str) -> list[RememberedFact]:
        """Return all facts of a subject and relation, ended ones included, oldest first."""
        return self._of_key(normal_form(subject), normal_form(relation))

    def names(self) -> list[str]:
        """Return all subjects and objects, ascending."""
        rows = self._tables.rows(
            "SELECT subject FROM fact WHERE owner = $1"
            " UNION SELECT object FROM fact WHERE owner = $1 ORDER BY 1",
            (self.owner,),
        )
        return [str(row[0]) for row in rows]

    def _add(self, fact: RememberedFact) -> tuple[RememberedFact, ...]:
        forms = _forms(fact)
        known = self._of_key(forms[0], forms[1])
        if self.holds(fact):
            return ()
        if forms[1] in self._many_valued:
            self._insert(fact, forms)
            return ()
        later = [k.valid_from for k in known if is_before(fact.valid_from, k.valid_from)]
        ends = [*later, *([fact.valid_to] if fact.valid_to is not None else [])]
        closed = tuple(
            self._close(k, fact.valid_from)
            for k in known
            if is_before(k.valid_from, fact.valid_from) and k.covers(fact.valid_from)
        )
        for k in known:
            if k.valid_from == fact.valid_from:  # a correction replaces the earlier value
                self._delete(k)
        self._insert(replace(fact, valid_to=min(ends, key=period_of, default=None)), forms)
        return closed

    def _of_key(self, subject_form: str, relation_form: str) -> list[RememberedFact]:
        rows = self._tables.rows(
            f"SELECT {_COLUMNS} FROM fact"  # noqa: S608  a constant
            " WHERE owner = $1 AND subject_form = $2 AND relation_form = $3",
            (self.owner, subject_form, relation_form),
        )
        return sorted(map(_read, rows), key=_place)

    def _insert(self, fact: RememberedFact, forms: tuple[str, str, str]) -> None:
        self._tables.change(
            "INSERT INTO fact (owner, subject, relation, object, subject_form, relation_form,"
            " object_form, valid_from, valid_to, source)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            " ON CONFLICT (owner, subject_form, relation_form, object_form, valid_from)"
            " DO UPDATE SET"
            " subject = excluded.subject, relation = excluded.relation, object = excluded.object,"
            " valid_to = excluded.valid_to, source = excluded.source",
            (
                *(self.owner, fact.subject, fact.relation, fact.object),
                *forms,
                *(fact.valid_from, fact.valid_to, fact.source),
            ),
        )

    def _close(self, fact: RememberedFact, at: str | None) -> RememberedFact:
        self._tables.change(
            "UPDATE fact SET valid_to = $1 WHERE owner = $2 AND subject_form = $3"
            " AND relation_form = $4 AND object_form = $5 AND valid_from = $6",
            (at, self.owner, *_forms(fact), fact.valid_from),
        )
        return replace(fact, valid_to=at)

    def _delete(self, fact: RememberedFact) -> None:
        self._tables.change(
            "DELETE FROM fact WHERE owner = $1 AND subject_form = $2 AND relation_form = $3"
            " AND object_form = $4 AND valid_from = $5",
            (self.owner, *_forms(fact), fact.valid_from),
        )


def _read(row: Sequence[object]) -> RememberedFact:
    subject, relation, object_, valid_from, valid_to, source = row
    end = None if valid_to is None else str(valid_to)
    return RememberedFact(
        str(subject), str(relation), str(object_), str(valid_from), end, str(source)
    )


def _place(fact: RememberedFact) -> tuple[object, ...]:
    """Return the sort key of a list of facts: subject, relation, time, object."""
    subject, relation, object_ = _forms(fact)
    return subject, relation, period_of(fact.valid_from), object_


def _form_of(name: str) -> str:
    return normal_form(SPEAKER if _FIRST_PERSON.fullmatch(name.strip()) else name)


def _key(fact: RememberedFact) -> tuple[str, ...]:
    return (*_forms(fact), fact.valid_from)


def _forms(fact: RememberedFact) -> tuple[str, str, str]:
    return normal_form(fact.subject), normal_form(fact.relation), normal_form(fact.object)
