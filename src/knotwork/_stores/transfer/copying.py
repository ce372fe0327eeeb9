"""Copy everything in a store to another one, so that a copy that was stopped continues.

Each page of a part is written in one transaction, with a mark that says how far the copy is and of
which state of the source, so that a kill costs one page. All pages are read from one state of the
source, whatever others write meanwhile. In the end the hashes of both stores are compared, and only
then the mark goes. A store with a mark is used for nothing else (`require_finished`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import (
    Store,
    require_communities,
    require_contents,
    require_homonyms,
    require_property_graphs,
    require_questions,
    require_readings,
    require_resolutions,
)
from knotwork._stores.copy_marks import (
    COPY_META,
    CopyMark,
    read_mark,
    require_finished,
    write_mark,
)
from knotwork._stores.transfer.digest import StoreDigest, store_digest
from knotwork._stores.transfer.parts import parts_of
from knotwork._stores.urls import index_file
from knotwork.errors import MissingCapability, StoreError, UnknownName

_VERIFYING = "verifying"


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
    require_contents(source)
    require_finished(source)
    if source is target or _place(source) == _place(target) != "memory:":
        raise StoreError(
            f"`{source.url}` cannot be copied to itself.", fix="Choose another target."
        )
    with source.reading():
        generation = source.generation()
        _require_parts(source, target, left_out, verify=verify)
        begun = read_mark(target)
        mark = _begin(target, CopyMark(_place(source), generation, left_out), begun)
        yield from _copy_parts(source, target, mark)
        expected = None
        if verify:
            expected = yield from store_digest.run(source, without=left_out)
        documents = source.documents.document_count()
    if expected is not None:
        found = yield from store_digest.run(target, without=left_out)
        _compare(source, target, expected, found)
    write_mark(target, None)
    return CopyReport(
        source.url,
        target.url,
        generation,
        documents,
        expected.hash if expected else "",
        {name: part.count for name, part in expected.parts.items()} if expected else {},
        left_out,
        begun is not None,
        source.generation() != generation,
    )


def _copy_parts(source: Store, target: Store, mark: CopyMark) -> Iterator[Progress]:
    """Copy the parts from the mark on."""
    parts = parts_of(source, mark.without)
    names = [part.name for part in parts]
    if mark.part == _VERIFYING:
        return
    if mark.part:
        parts = parts[names.index(mark.part) :]
    for part in parts:
        if mark.part != part.name:
            mark = replace(mark, part=part.name, after="", done=0)
        total = part.total(source)
        yield Progress(f"copying {part.name}", mark.done, total)
        for page in part.pages(source, mark.after):
            mark = replace(mark, after=page.last, done=mark.done + len(page.items))
            with target.transaction():
                part.write(target, page.items)
                write_mark(target, mark)
            yield Progress(f"copying {part.name}", mark.done, total)
    write_mark(target, replace(mark, part=_VERIFYING, after="", done=0))


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
    """Mark an empty target, or return the mark of the same copy."""
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
    """Return what an index holds that is not empty; None for an empty one."""
    parts = store.capabilities
    if count := store.documents.document_count():
        return f"{count:,} document{'' if count == 1 else 's'}"
    if next(iter(store.ledger.entries()), None) is not None:
        return "failed sources"
    if parts.property_graphs is not None and (names := parts.property_graphs.names()):
        return f"the graph `{names[0]}`"
    if parts.contents is not None and parts.contents.decisions(("", ""), limit=1):
        return "decisions about entities"
    if any(value for name, value in store.meta().items() if name != COPY_META):
        return "settings"
    return None


def _compare(source: Store, target: Store, expected: StoreDigest, found: StoreDigest) -> None:
    if differing := expected.differing(found):
        raise StoreError(
            f"The copy `{target.url}` differs from `{source.url}` in: {', '.join(differing)}.",
            fix="Check the source with `knotwork doctor --full`, then copy it to a new target.",
        )


@dataclass(frozen=True, slots=True)
class _Capability:
    """An optional part: how to require it of the target, and whether the source uses it."""

    require: Callable[[Store], object]
    is_used: Callable[[Store], object]


_CAPABILITIES: Mapping[str, _Capability] = {
    "communities": _Capability(
        require_communities, lambda s: require_contents(s).community_ids("", limit=1)
    ),
    "readings": _Capability(
        require_readings,
        lambda s: (held := s.capabilities.readings) and (held.has_readings() or held.described()),
    ),
    "questions": _Capability(
        require_questions, lambda s: (held := s.capabilities.questions) and held.chunk_ids()
    ),
    "resolutions": _Capability(
        require_resolutions,
        lambda s: (
            require_contents(s).decisions(("", ""), limit=1)
            or require_contents(s).touched("", limit=1)
        ),
    ),
    "homonyms": _Capability(require_homonyms, lambda s: require_contents(s).homonyms("", limit=1)),
    "property_graphs": _Capability(
        require_property_graphs, lambda s: (held := s.capabilities.property_graphs) and held.names()
    ),
}

COPIED_CAPABILITIES = tuple(_CAPABILITIES)
"""The optional parts of a store that a copy includes, and may leave out."""


def _require_parts(
    source: Store, target: Store, left_out: Collection[str], *, verify: bool
) -> None:
    """Raise MissingCapability if the target lacks a part that the source uses."""
    for name, part in _CAPABILITIES.items():
        if name in left_out or getattr(target.capabilities, name) is not None:
            continue
        if part.is_used(source):
            try:
                part.require(target)
            except MissingCapability as error:
                error.fix = f"Leave it out with `--without {name}`, or copy to another store."
                raise
    writes_marks = "communities" not in left_out and bool(
        _CAPABILITIES["communities"].is_used(source)
    )
    if target.capabilities.contents is None and (verify or writes_marks):
        options = (("--no-verify", verify), ("--without communities", writes_marks))
        needed = " and ".join(f"`{option}`" for option, is_needed in options if is_needed)
        try:
            require_contents(target)
        except MissingCapability as error:
            error.fix = f"Copy with {needed}, or to another store."
            raise
