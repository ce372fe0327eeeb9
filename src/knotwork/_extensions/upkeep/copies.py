"""Copy an index to another store, so that a copy that was stopped continues; hash what one holds.

A store consists of parts (`Contents`), each of which is read in ascending order of its keys. Memory
holds one page of rows, or one imported graph, which no store can add in pieces. Rows are the same
on every kind of store; what a store computes from them, such as entities, it computes again.

Each page of a part is written in one transaction, with a mark that says how far the copy is and of
which state of the source, so that a kill costs one page. All pages are read from one state of the
source, whatever others write meanwhile. In the end the hashes of both stores are compared, and only
then the mark goes. A store with a mark is used for nothing else (`require_finished`).

The tables of spreadsheets and the cached replies of models are copied with an index. Facts of
conversations are not: they may be personal, and a server may have many users.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b

from knotwork._cancellation import check_cancelled
from knotwork._config import StoreSettings
from knotwork._extensions.upkeep.contents import require_contents
from knotwork._inference.call_cache import CALLS, copy_calls
from knotwork._run import Progress, Steps, Verb
from knotwork._sqlite_file import FILE_KINDS, MEMORY_SUFFIX
from knotwork._stores.base import Store, companions_of, has_tables, index_file, tables_of
from knotwork._stores.capabilities import Contents
from knotwork._stores.copy_marks import COPY_META, CopyMark, read_mark, require_finished, write_mark
from knotwork._stores.indexes import DESCRIPTIONS, TEXT_INDEXES, VECTOR_INDEXES
from knotwork._stores.urls import open_store
from knotwork.errors import MissingCapability, StoreError, StoreReadOnly, UnknownName

_OF_INDEXES = {"question": "questions", "report": "communities", DESCRIPTIONS: "readings"}
CONTENTS: Mapping[str, str] = {
    **dict.fromkeys(("documents", "sections", "chunks", "fields", "pages"), ""),
    **dict.fromkeys(("corrections", "mentions", "relations"), ""),
    **dict.fromkeys(("hidden mentions", "removed relations"), ""),
    **dict.fromkeys(("readings", "descriptions", "summaries"), "readings"),
    "questions": "questions",
    **dict.fromkeys(("communities", "members", "community chunks"), "communities"),
    **dict.fromkeys(("reports", "citations"), "communities"),
    **dict.fromkeys(("decisions", "touched"), "resolutions"),
    **dict.fromkeys(("homonyms", "senses"), "homonyms"),
    "graphs": "property_graphs",
    **{f"{index} texts": _OF_INDEXES.get(index, "") for index in TEXT_INDEXES},
    **{f"{index} vectors": _OF_INDEXES.get(index, "") for index in VECTOR_INDEXES},
    **dict.fromkeys(("ledger", "settings"), ""),
}
"""The parts of `Contents` in the order in which they are added, each with its optional part."""

DERIVED_CONTENTS = ("entities", "edges")
"""The parts of `Contents` that a store computes from others."""

_VERIFYING = "verifying"
_PAGE_ROWS = 8_192
_LARGE_ROWS = {"documents": 64, "chunks": 1_024, "readings": 1_024, "graphs": 1}
"""The rows of a page of parts whose rows may be large."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """A finished copy.

    ``generation`` numbers the last commit of the source that is in the copy; ``changed`` is True if
    the source has newer ones. ``parts`` are numbers of values by kind, ``hash`` is that of the
    contents, and both are empty if they were not verified. ``left_out`` are parts of the source
    that were not to be copied. ``resumed`` is True if an earlier call began the copy. ``beside``
    are the kinds of files beside a source file that were not copied.
    """

    source: str
    target: str
    generation: int
    documents: int
    hash: str
    parts: Mapping[str, int]
    left_out: tuple[str, ...]
    resumed: bool
    changed: bool
    beside: tuple[str, ...] = ()


@Verb
def copy_store(
    source: Store, target: Store, *, without: Collection[str] = (), verify: bool = True
) -> Steps[CopyReport]:
    """Copy a store into an empty one, or continue this copy, and return the report.

    ``without`` are optional parts of the source to leave out (`COPIED_CAPABILITIES`). ``verify``
    compares the hashes of what is in both. Raises, before any work, UnknownName for another part,
    MissingCapability if the target cannot hold a part that the source uses, StoreError if the
    target is neither empty nor the unfinished copy of this state of the source. Raises StoreError
    if the hashes differ in the end.
    """
    left_out = check_left_out(without)
    held = require_contents(source)
    require_finished(source)
    if source is target or _place(source) == _place(target) != "memory:":
        raise StoreError(
            f"`{source.url}` cannot be copied to itself.", fix="Choose another target."
        )
    with source.reading():
        generation = source.generation()
        added = _require_parts(held, target, left_out)
        begun = read_mark(target)
        mark = _begin(target, CopyMark(_place(source), generation, left_out), begun)
        yield from _copy_parts(held, target, added, mark)
        expected = StoreDigest({})
        if verify:
            expected = yield from store_digest.run(source, without=left_out)
        documents = source.documents.document_count()
    if verify:
        found = yield from store_digest.run(target, without=left_out)
        if differing := expected.differing(found):
            raise StoreError(
                f"The copy `{target.url}` differs from `{source.url}` in: {', '.join(differing)}.",
                fix="Check the source with `knotwork doctor --full`, then copy it to a new target.",
            )
    write_mark(target, None)
    return CopyReport(
        source.url,
        target.url,
        generation,
        documents,
        expected.hash if verify else "",
        {name: part.count for name, part in expected.parts.items()},
        left_out,
        begun is not None,
        source.generation() != generation,
    )


def _copy_parts(
    source: Contents, target: Store, added: Contents, mark: CopyMark
) -> Iterator[Progress]:
    parts = [part for part, capability in CONTENTS.items() if capability not in mark.without]
    if mark.part == _VERIFYING:
        return
    if mark.part:
        parts = parts[parts.index(mark.part) :]
    for part in parts:
        if mark.part != part:
            mark = replace(mark, part=part, after="", done=0)
        total = source.count(part)
        yield Progress(f"copying {part}", mark.done, total)
        while (page := source.page(part, mark.after, limit=_rows_of(part))).rows:
            mark = replace(mark, after=page.last, done=mark.done + len(page.rows))
            with target.transaction():
                added.add(part, page.rows)
                write_mark(target, mark)
            yield Progress(f"copying {part}", mark.done, total)
    write_mark(target, replace(mark, part=_VERIFYING, after="", done=0))


def _rows_of(part: str) -> int:
    is_index = part.endswith(("texts", "vectors"))
    return min(_LARGE_ROWS.get(part, 1_024 if is_index else _PAGE_ROWS), _PAGE_ROWS)


def check_left_out(without: Collection[str]) -> tuple[str, ...]:
    """Return the parts to leave out, sorted. Raises UnknownName for an unknown one."""
    for name in without:
        if name not in COPIED_CAPABILITIES:
            raise UnknownName("part of an index", name, COPIED_CAPABILITIES)
    return tuple(sorted(set(without)))


def _place(store: Store) -> str:
    """Return the label of a store, which does not depend on the working folder."""
    path = index_file(store.url)
    return store.url if path is None else str(path.absolute())


def _begin(target: Store, wanted: CopyMark, begun: CopyMark | None) -> CopyMark:
    if begun is None:
        if (held := _first_content(target)) is not None:
            raise StoreError(
                f"The target `{target.url}` is not empty: it holds {held}.",
                fix="Copy to a new one.",
            )
        write_mark(target, wanted)
        return wanted
    if begun.source != wanted.source:
        raise StoreError(
            f"The target `{target.url}` is an unfinished copy of `{begun.source}`, not of "
            f"`{wanted.source}`.",
            fix="Copy to a new target.",
        )
    if begun.generation != wanted.generation:
        raise StoreError(
            f"`{wanted.source}` has changed since the copy to `{target.url}` began: its commit "
            f"{begun.generation} is now {wanted.generation}.",
            fix="Delete the unfinished copy, then copy again.",
        )
    if begun.without != wanted.without:
        raise StoreError(
            f"The copy to `{target.url}` began without {', '.join(begun.without) or 'exceptions'}.",
            fix="Continue it with the same options, or copy to a new target.",
        )
    return begun


def _first_content(store: Store) -> str | None:
    parts = store.capabilities
    if count := store.documents.document_count():
        return f"{count:,} document{'' if count == 1 else 's'}"
    if next(iter(store.ledger.entries()), None) is not None:
        return "failed sources"
    if parts.property_graphs is not None and (names := parts.property_graphs.names()):
        return f"the graph `{names[0]}`"
    for part, held in (("decisions", "decisions about entities"), ("corrections", "corrections")):
        if parts.contents is not None and parts.contents().page(part, "", limit=1).rows:
            return held
    if any(value for name, value in store.meta().items() if name != COPY_META):
        return "settings"
    return None


COPIED_CAPABILITIES = tuple(dict.fromkeys(filter(None, CONTENTS.values())))
"""The optional parts of a store that a copy includes, and may leave out."""


def _require_parts(source: Contents, target: Store, left_out: Collection[str]) -> Contents:
    """Return the contents of the target.

    Raises MissingCapability if it lacks them, or a part that the source uses.
    """
    for part, name in CONTENTS.items():
        lacks = name and name not in left_out and getattr(target.capabilities, name) is None
        if lacks and source.page(part, "", limit=1).rows:
            fix = f"Leave it out with `--without {name}`, or copy to another store."
            raise MissingCapability(target.url, name.replace("_", " "), fix=fix)
    return require_contents(target)


@Verb
def copy_index(
    source_url: str,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Steps[CopyReport]:
    """Copy the index at a URL or path to another one, and return the report.

    ``limits`` are the pool and the time-outs of stores on a server,
    without that of an idle transaction: the one that reads the source is idle while the target is
    written. See `KnowledgeBase.copy`.
    """
    patient = replace(limits or StoreSettings(), idle_timeout_s=0)
    with closing(open_store(source_url, read_only=True, limits=patient)) as source:
        return (
            yield from copy_to(source, target_url, without=without, verify=verify, limits=limits)
        )


def copy_to(
    source: Store,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Steps[CopyReport]:
    """Copy an open store to the one at a URL or path, which is created if it is missing."""
    check_left_out(without)
    with closing(open_store(target_url, create=True, limits=limits)) as target:
        run = copy_store.run(source, target, without=without, verify=verify)
        yield next(run)  # now the target is known to be an empty one or this copy
        yield from _copy_tables(source, target)
        yield from _copy_calls(source, target)
        report = yield from run
        return replace(report, beside=_kinds_left(source, target))


def _copy_tables(source: Store, target: Store) -> Iterator[Progress]:
    tables, copied = tables_of(source), tables_of(target)
    if tables is None or copied is None:
        return
    shapes = tables.tables()
    for done, shape in enumerate(shapes, start=1):
        data = tables.packed(shape.name)
        copied.put_packed(shape.name, data)
        if copied.packed(shape.name) != data:
            raise StoreError(
                f"The table `{shape.name}` differs in the copy.", fix="Repeat the copy."
            )
        yield Progress("copying tables", done, len(shapes))


def _copy_calls(source: Store, target: Store) -> Iterator[Progress]:
    companions = companions_of(source)
    if not companions.has(CALLS):
        return
    try:
        opened = companions.open(CALLS)
    except StoreReadOnly:  # of a server whose user may only read
        return
    with closing(opened) as calls:
        if not calls.rows("SELECT 1 FROM spent LIMIT 1"):
            return
        with closing(companions_of(target).open(CALLS)) as copied:
            for done in copy_calls(calls, copied):
                yield Progress("copying replies of models", done)


def _kinds_left(source: Store, target: Store) -> tuple[str, ...]:
    left = []
    if has_tables(source) and tables_of(target) is None:
        left.append("tables")
    path = index_file(source.url)
    if path is not None and path.with_name(path.name + MEMORY_SUFFIX).exists():
        left.append(FILE_KINDS[MEMORY_SUFFIX])
    return tuple(left)


_FORMAT = 1
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class PartDigest:
    """The number of values of a kind, and the hash of them all as 64 hexadecimal digits."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True)
class StoreDigest:
    """The hash of a store, and those of the kinds of values in it, by name, without empty ones.

    It is equal on every kind of store. Each row is hashed alone, as JSON of its values, and the
    hashes of a kind are added up modulo 2**256 (an incremental multiset hash, as in AdHash by
    Bellare and Micciancio). So the result does not depend on the order of writes or reads, and
    needs no memory. Floats count with all their digits, and vectors with the bytes that stores
    keep: float16 for sentences, float32 for all others. What a store computes from contributions
    counts too: entities, edges, and the terms of text indexes.

    The hash finds accidents. It does not resist somebody who looks for two stores with the same
    one.
    """

    parts: Mapping[str, PartDigest]

    @property
    def hash(self) -> str:
        """The hash of all parts, as 64 hexadecimal digits."""
        found = blake2b(f"knotwork {_FORMAT}".encode(), digest_size=32)
        for name, part in sorted(self.parts.items()):
            found.update(f"\n{name} {part.count} {part.hash}".encode())
        return found.hexdigest()

    def differing(self, other: StoreDigest) -> tuple[str, ...]:
        """Return the names of the parts that differ from those of another store."""
        names = sorted({*self.parts, *other.parts})
        return tuple(name for name in names if self.parts.get(name) != other.parts.get(name))


@Verb
def store_digest(store: Store, *, without: Collection[str] = ()) -> Steps[StoreDigest]:
    """Return the hash of one state of a store, except for the capabilities ``without``.

    It reads everything once. Raises MissingCapability if the store cannot list its contents.
    """
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    contents = require_contents(store)
    with store.reading():
        for part in (*CONTENTS, *DERIVED_CONTENTS):
            if CONTENTS.get(part) in without:
                continue
            after = ""
            while (page := contents.page(part, after, limit=_rows_of(part))).rows:
                check_cancelled()
                after = page.last
                for kind, value in contents.values(part, page.rows):
                    data = _encode(value).encode("ascii")
                    one = int.from_bytes(blake2b(data, digest_size=32).digest(), "big")
                    counts[kind] += 1
                    sums[kind] = (sums[kind] + one) % _MODULUS
                yield Progress(f"{_VERIFYING} {store.url}", counts.total())
    return StoreDigest(
        {kind: PartDigest(counts[kind], f"{sums[kind]:064x}") for kind in sorted(counts)}
    )


_encode = json.JSONEncoder(default=bytes.hex, separators=(",", ":"), check_circular=False).encode
