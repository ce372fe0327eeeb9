"""The form of what a brain says: every line that a parser will read is made here.

Change these when the prompts of the framework ask for another form; a brain takes another
`LineForm` as an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNSAFE = re.compile(r"\s*[\n\t|]+\s*")


class LineForm:
    """One method for each line; fields are joined by `` | ``, which they never hold themselves."""

    nothing = "none"
    """Said when there is nothing to say, so that silence is never taken for it."""

    def triplet(self, source: str, relation: str, target: str) -> str:
        """Return a fact."""
        return self.join(source, relation, target)

    def entity(self, name: str, kind: str, summary: str) -> str:
        """Return an entity with its type, such as PERSON or OTHER."""
        return self.join("entity", name, kind, summary)

    def relation(self, source: str, relation: str, target: str) -> str:
        """Return a relation."""
        return self.join("relation", source, relation, target)

    def keyword(self, word: str) -> str:
        """Return a keyword."""
        return self.join(word)

    def verdict(self, number: int, *, same: bool) -> str:
        """Return whether the two of a numbered pair are one."""
        return self.join(str(number), "same" if same else "different")

    def judgement(self, number: int, word: str, *corrected: str) -> str:
        """Return whether to keep, drop or fix a numbered relation, and what a fix makes of it."""
        return self.join(str(number), word, *corrected)

    def proposed_type(self, kind: str, meaning: str) -> str:
        """Return a type of entities that a schema should have."""
        return self.join("type", kind, meaning)

    def proposed_relation(self, source: str, relation: str, target: str) -> str:
        """Return a relation that a schema should have, between two types."""
        return self.join("relation", source, relation, target)

    def point(self, score: int, text: str) -> str:
        """Return a point of a map step, with how much it helps, 0 to 100."""
        return self.join(str(score), text)

    def report(self, title: str, summary: str, findings: Iterable[str]) -> list[str]:
        """Return the lines of a community report."""
        lines = [self.join("title", title), self.join("summary", summary)]
        return lines + [self.join("finding", finding) for finding in findings]

    def join(self, *fields: str) -> str:
        """Return fields as a line."""
        return " | ".join(_UNSAFE.sub(" ", field).strip() for field in fields)
