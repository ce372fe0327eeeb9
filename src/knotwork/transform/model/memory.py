"""Chunk memory: what similar earlier chunks named and stated, as a few lines of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Extraction,
    Mention,
)
from knotwork.text.tokens import count_tokens

MEMORY_TOKENS = 80
"""Tokens of memory in a prompt, at most; about a third of a small chunk."""

_SILENT = frozenset({ALIAS_RELATION, CO_OCCURRENCE_RELATION, ""})
_NO_NAMES = frozenset({"DATE", "NUMBER"})


def recall(extractions: Iterable[Extraction], *, limit_tokens: int = MEMORY_TOKENS) -> str:
    """Return names and facts of earlier chunks, the most similar chunk first, a line each.

    A chunk gives its strongest facts in turn with its names; nothing comes twice. Lines that would
    go beyond the limit are left out.
    """
    lines: list[str] = []
    total = 0
    for line in dict.fromkeys(line for e in extractions for line in _lines_of(e)):
        tokens = count_tokens(line)
        if total + tokens <= limit_tokens:
            lines.append(line)
            total += tokens
    return "\n".join(lines)


def _lines_of(extraction: Extraction) -> list[str]:
    names = {m.entity_id: m for m in extraction.mentions if m.type not in _NO_NAMES}
    facts = [
        f"{names[r.source].name} | {r.relation} | {names[r.target].name}"
        for r in sorted(extraction.relations, key=lambda r: -_worth(r.weight, r.description))
        if r.relation not in _SILENT and r.source in names and r.target in names
    ]
    ranked = sorted(names.values(), key=lambda m: (-m.about, -len(m.spans), m.normal_form))
    return [*_called(ranked[:6]), *facts[:4]]


def _worth(weight: int, description: str) -> int:
    """Put facts that a model described before those that rules only guess at."""
    return weight + 1_000 * bool(description)


def _called(mentions: Iterable[Mention]) -> list[str]:
    return [f"{m.name} ({m.type})" if m.type else m.name for m in mentions]


def names_in(memory: str) -> Mapping[str, str]:
    """Return the names that lines of memory hold, by themselves and without their types."""
    names: dict[str, str] = {}
    for line in memory.splitlines():
        parts = line.split(" | ")
        for part in (parts[0], parts[-1]):
            bare = part.rsplit(" (", 1)[0].strip()
            if bare:
                names[bare] = bare
    return names
