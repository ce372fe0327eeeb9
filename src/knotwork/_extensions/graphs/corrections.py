"""Correct the graph by hand: record, list and undo corrections, and write what follows from them.

The store keeps the corrections and gives the graph that follows from them. What is beside the graph
is written here: decisions on merged entities, full text and vectors of names, and a document for
each relation that a person states, so that answers and paths can cite it. All of it is one
transaction. A correction is recorded with what it replaces, as far as that cannot be read again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Literal

import numpy as np

from knotwork._extensions.graphs.foreign_indexes.labels import one_line, plain_type
from knotwork._extensions.graphs.graph_import.spool import has_han
from knotwork._extensions.graphs.imported_documents import imported_source
from knotwork._indexing.commit import (
    VECTOR_CHUNKS,
    EntityState,
    commit_documents,
    outdate_communities,
    refresh_entities,
    remove_sources,
)
from knotwork._indexing.embedding import (
    NO_VECTORS,
    Embedding,
    check_embedder,
    entity_row,
    stored_embedder,
)
from knotwork._indexing.prepare import Prepared
from knotwork._indexing.resolution.resolver import decide
from knotwork._indexing.splitters import SectionTree
from knotwork._inference.embedder import PassageVectors
from knotwork._retrieval.chunk_entities import read_merged_entities_of
from knotwork._retrieval.entity_lookup import suggest_names
from knotwork._stores.base import Store, require_corrections, require_resolutions
from knotwork._stores.corrections import (
    CORRECTION_KINDS,
    CORRECTION_URI,
    SHOW,
    former_names_of,
    in_effect,
    read_corrections,
    subject_of,
)
from knotwork._stores.resolutions import RULES_META
from knotwork._text.languages import detect_language
from knotwork._text.names import normal_form
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Chunk,
    Correction,
    Document,
    Entity,
    Extraction,
    Mention,
    Relation,
    SameAs,
    Span,
    Verdict,
    content_id,
    entity_id,
)

LOCAL_AUTHOR = "local"
"""The author of corrections that are made without a key."""

Reason = Literal["", "undone", "replaced", "gone", "hidden", "kept_apart", "not_stated", "deleted"]
REASONS: Mapping[Reason, str] = {
    "": "",
    "undone": "It was undone.",
    "replaced": "A later correction replaces it.",
    "gone": "No document mentions the entity now.",
    "hidden": "An entity of it is hidden.",
    "kept_apart": "Other decisions keep the two apart.",
    "not_stated": "No document states the relation now.",
    "deleted": "Its document was deleted.",
}
"""Why a correction is not applied."""

_KEEPS_NAMES = frozenset({"rename", "retype", "pin"})
"""The kinds of which the comparison of names does not depend."""

_KEEPS_COMMUNITIES = frozenset({"merge", "split", "pin"})
"""The kinds that leave communities as they are, or of which they see what to do themselves."""

_DECIDE = frozenset({"same", "divide"})
"""The first words of subjects with a decision on two entities."""

_LOSE_VECTORS = frozenset({"hide", "divide"})
"""The kinds that may remove vectors of names."""

_LONGEST = 500
_STATED_ABOUT = 0.5
"""How much the passage of a stated relation is about each end."""


@dataclass(frozen=True, slots=True)
class RecordedCorrection:
    """A correction of an index. ``reason`` is why the graph does not show it now, "" if it does."""

    correction: Correction
    reason: Reason = ""

    @property
    def applied(self) -> bool:
        """True if the graph shows the correction."""
        return not self.reason

    @property
    def note(self) -> str:
        """The reason in words."""
        return REASONS[self.reason]


class Corrections:
    """The corrections of an index; ``embedding`` embeds names and stated relations."""

    def __init__(self, store: Store, embedding: Embedding | None = None) -> None:
        self._store = store
        self._held = require_corrections(store)
        embedding = embedding or Embedding()
        self._embedding = embedding if stored_embedder(store) == embedding.name else Embedding()
        self._given = embedding

    def listed(self) -> list[RecordedCorrection]:
        """Return all corrections, the oldest first."""
        with self._store.reading():
            return _recorded(self._store, self._held.corrections())

    def make(
        self,
        kind: str,
        entity: str,
        *,
        documents: Sequence[str] = (),
        author: str = "",
        **said: str,
    ) -> Correction:
        """Return a correction of what the graph shows now, not yet recorded.

        Entities are given by name or id. ``said`` are ``other``, ``relation``, ``name`` and
        ``type``, as `KnowledgeGraph.correct` takes them. Raises as it does.
        """
        fields = {key: _checked(key, said.get(key, "")) for key in _SAID}
        uris = tuple(dict.fromkeys(documents))
        _check_fields(kind, {**fields, "documents": uris})
        one = self._find(entity)
        two = self._find(fields["other"]) if fields["other"] else None
        if two is not None and two.id == one.id:
            raise ConfigError(
                f"Both are names of one entity, `{one.name}`.",
                fix="Give the names of two entities. Spellings alone do not make two.",
            )
        fields["type"] = plain_type(fields["type"])
        if kind == "retype" and not fields["type"]:
            raise ConfigError(f"`{said['type']}` is not a type.", fix="Give a word such as PERSON.")
        known = read_corrections(self._store)
        was = {"rename": one.name, "retype": one.type}.get(kind, "")
        other_forms = self._forms(kind, two) if two else ()
        if kind == "divide":
            other_forms = (normal_form(fields["name"]),)
        correction = Correction(
            id="",
            kind=kind,
            entity=one.name,
            other=two.name if two else "",
            **{key: fields[key] for key in _SAID if key != "other"},
            was=former_names_of(known, kind).get(one.id, was),
            author=_checked("author", author) or LOCAL_AUTHOR,
            made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            forms=self._forms(kind, one),
            other_forms=other_forms,
            documents=uris,
        )
        current = in_effect(known).get(subject_of(correction))
        if kind == "divide":
            self._check_division(correction, known, is_new=current is None)
            earlier = current.documents if current else ()
            correction = replace(correction, documents=tuple(dict.fromkeys((*earlier, *uris))))
        correction = replace(correction, id=correction_id(correction))
        if kind != "divide" and (current is None or current.id != correction.id):
            self._check(correction, one, two)
        return correction

    def record(self, correction: Correction) -> RecordedCorrection:
        """Record a correction, unless an equal one is in effect, and write what follows from it."""
        store, held = self._store, self._held
        statement, vectors = None, dict[str, PassageVectors]()
        if correction.kind == "add_relation":
            check_embedder(store, self._given.name)
            statement = self._statement(correction)
            vectors = self._vectors(statement)
        with held.alone():
            before = self._state(correction)
            known = held.corrections()
            subject = subject_of(correction)
            current = in_effect(known).get(subject)
            if current is not None and current.id == correction.id:
                return _recorded(store, known, only=current.id)[0]
            kept = held.kept(current.id) if current is not None else self._kept(correction, before)
            held.put(correction, kept=kept)
            if subject[0] in _DECIDE:
                self._decide(correction, correction, kept)
            if statement is not None:
                commit_documents(store, [statement], vectors=vectors, embedding=self._embedding)
            self._follow(correction, before)
            return _recorded(store, held.corrections(), only=correction.id)[0]

    def undo(self, correction_id: str) -> RecordedCorrection:
        """Remove a correction and what follows from it, and return it. Raises UnknownName."""
        store, held = self._store, self._held
        found = self._recorded(correction_id)
        with held.alone():
            before = self._state(found)
            self._recorded(correction_id)  # nobody else has undone it
            kept = held.kept(found.id)
            held.remove([found.id])
            left = in_effect(held.corrections()).get(subject_of(found))
            if subject_of(found)[0] in _DECIDE:
                self._decide(found, left, kept)
            if found.kind == "add_relation":
                uri = CORRECTION_URI + found.id
                remove_sources(store, list(store.ledger.get([uri]).values()))
            if found.kind in _LOSE_VECTORS and kept:
                self._restore_vectors(kept)
            self._follow(found, before)
        return RecordedCorrection(found, "undone")

    def show(self, entity: str) -> RecordedCorrection:
        """Undo the correction that hides an entity, given by name or id. Raises UnknownName."""
        hiding = self._hiding(entity)
        if hiding is None:
            known = in_effect(read_corrections(self._store)).values()
            names = [c.entity for c in known if c.kind == "hide"]
            raise UnknownName("hidden entity", entity, names)
        return self.undo(hiding.id)

    def _recorded(self, correction_id: str) -> Correction:
        known = {correction.id: correction for correction in self._held.corrections()}
        if correction_id not in known:
            form = normal_form(correction_id)
            near = [
                *(key for key in known if key.startswith(correction_id)),
                *get_close_matches(correction_id, known),
                *(c.id for c in known.values() if form in map(normal_form, (c.entity, c.other))),
            ]
            fix = "List them with: knotwork graph corrections" if known else "There are none."
            raise UnknownName("correction", correction_id, nearest=dict.fromkeys(near), fix=fix)
        return known[correction_id]

    def _find(self, name: str) -> Entity:
        graph, form = self._store.graph, normal_form(name)
        found = graph.entities([name]).get(name) or graph.lookup([form] if form else []).get(form)
        if found is not None:
            return found
        if hiding := self._hiding(name):
            raise ConfigError(
                f"`{hiding.entity}` is hidden.",
                fix=f"Show it first: undo the correction {hiding.id}.",
            )
        raise UnknownName("entity", name, nearest=suggest_names(self._store, name))

    def _hiding(self, name: str) -> Correction | None:
        form = normal_form(name)
        for correction in in_effect(read_corrections(self._store)).values():
            named = (normal_form(correction.entity), *correction.entity_ids, *correction.forms)
            if correction.kind == "hide" and (name in named or form in named):
                return correction
        return None

    def _forms(self, kind: str, entity: Entity) -> tuple[str, ...]:
        """Return the normal forms that a correction of an entity is about."""
        if kind not in ("hide", "remove_relation"):
            return (entity.normal_form,)
        members = read_merged_entities_of(self._store, [entity.id]).members(entity.id)
        merged = self._store.graph.entities(members).values()
        return tuple(dict.fromkeys([entity.normal_form, *(e.normal_form for e in merged)]))

    def _check(self, correction: Correction, one: Entity, two: Entity | None) -> None:
        """Raise ConfigError or UnknownName if a new correction would say nothing or be unclear."""
        kind = correction.kind
        if kind == "rename":
            form = normal_form(correction.name)
            other = self._store.graph.lookup([form]).get(form)
            if other is not None and other.id != one.id:
                raise ConfigError(
                    f"`{correction.name}` is the name of another entity.",
                    fix="Merge the two instead, or give another name.",
                )
            if correction.name == one.name:
                raise ConfigError(f"`{one.name}` has this name.", fix="Give another name.")
        elif kind == "retype" and correction.type == one.type:
            raise ConfigError(f"`{one.name}` has the type {one.type}.", fix="Give another type.")
        elif kind == "add_relation" and correction.relation == CO_OCCURRENCE_RELATION:
            raise ConfigError(
                f"`{CO_OCCURRENCE_RELATION}` says how often two names occur together.",
                fix='Name what one is to the other, such as "works for".',
            )
        elif kind == "remove_relation" and two is not None:
            self._check_relation(correction, one, two)

    def _check_division(
        self, correction: Correction, known: Sequence[Correction], *, is_new: bool
    ) -> None:
        """Raise ConfigError or UnknownName if entity, name or documents cannot be divided so."""
        ends, form = {*correction.entity_ids, *correction.other_ids}, correction.other_forms[0]
        if is_new and self._store.graph.lookup([form]):
            raise ConfigError(
                f"`{correction.name}` is the name of an entity: brackets at its end do not count.",
                fix='Give a new one that says what is meant, such as "Mercury, planet".',
            )
        divided = (c for c in known if c.kind == "divide" and c.other_ids == correction.entity_ids)
        for earlier in divided:
            raise ConfigError(
                f"`{correction.entity}` was divided from `{earlier.entity}`.",
                fix=f"Divide `{earlier.entity}` by more documents.",
            )
        ids = {Document(uri, "").id: uri for uri in correction.documents}
        chunks = self._store.documents.chunk_ids_of(ids)
        for key, uri in ids.items():
            mentions = self._store.graph.mentions(chunks.get(key, ())).values()
            if any(mention.entity_id in ends for found in mentions for mention in found):
                continue
            divided = (c for c in in_effect(known).values() if c.forms == correction.forms)
            for earlier in divided:
                if uri in earlier.documents:
                    raise ConfigError(
                        f"`{correction.entity}` means `{earlier.name}` in `{uri}` already.",
                        fix=f"Undo the correction {earlier.id} first.",
                    )
            raise UnknownName("document", uri, place=f" that mentions `{correction.entity}`")

    def _check_relation(self, correction: Correction, one: Entity, two: Entity) -> None:
        ends, relation = correction.entity_ids, correction.relation
        pairs = [(a, b) for a in ends for b in correction.other_ids]
        if relation == CO_OCCURRENCE_RELATION:
            pairs += [(b, a) for a, b in pairs]
        wanted = [(a, relation, b) for a, b in pairs]
        if any(self._store.graph.relation_chunks(wanted, limit=1)):
            return
        around = self._store.graph.neighbours(ends, direction="out", types=ENTITY_EDGES)
        others = set(correction.other_ids)
        near = [e.name for edges in around.values() for e in edges if e.target in others]
        place = f" from `{one.name}` to `{two.name}`"
        raise UnknownName("relation", relation, nearest=dict.fromkeys(near), place=place)

    def _state(self, correction: Correction) -> EntityState:
        ids = frozenset((*correction.entity_ids, *correction.other_ids))
        entities = self._store.graph.entities(ids)
        return EntityState(ids, frozenset(), entities, self._store.vectors("entity").get(ids))

    def _kept(self, correction: Correction, before: EntityState) -> str:
        """Return what a correction replaces: vectors of names, or a decision on two entities."""
        if correction.kind in _LOSE_VECTORS and before.vectors:
            rows = {key: b64encode(row.tobytes()).decode() for key, row in before.vectors.items()}
            return json.dumps({"embedder": stored_embedder(self._store), "vectors": rows})
        if correction.kind in ("merge", "split"):
            first, second = sorted((correction.entity_ids[0], correction.other_ids[0]))
            decisions = require_resolutions(self._store).of_entities([first]).get(first, [])
            return next((json.dumps(asdict(d)) for d in decisions if d.second == second), "")
        return ""

    def _restore_vectors(self, kept: str) -> None:
        """Put the vectors of names back that were removed when their entities were hidden."""
        store, found = self._store, json.loads(kept)
        if found["embedder"] != stored_embedder(store):
            return
        store.vectors("entity").put(
            entity_row(found["embedder"], entity, np.frombuffer(b64decode(row), np.float32))
            for key, row in found["vectors"].items()
            for entity in store.graph.entities([key]).values()
            if entity.chunk_count >= VECTOR_CHUNKS
        )

    def _decide(self, about: Correction, correction: Correction | None, kept: str) -> None:
        """Decide on the two entities of a correction as the last one of them says.

        Without one, the decision that was ``kept`` is in effect again, if there was any.
        """
        pairs = require_resolutions(self._store)
        first, second = sorted((about.entity_ids[0], about.other_ids[0]))
        pairs.remove([(first, second)])
        base = json.loads(kept or "{}")
        if "verdict" in base:
            pairs.put([SameAs(**{**base, "verdict": Verdict(base["verdict"])})])
        if correction is not None:
            is_same = correction.kind == "merge"
            decide(self._store, first, second, Verdict.SAME if is_same else Verdict.DIFFERENT)

    def _touch(self, correction: Correction) -> None:
        """Have the names compared again by the next run."""
        resolutions = self._store.capabilities.resolutions
        if resolutions is not None and RULES_META in self._store.meta():
            resolutions.touch((*correction.entity_ids, *correction.other_ids))

    def _follow(self, correction: Correction, before: EntityState) -> None:
        """Write full text, vectors and marks of what a correction, or its undoing, has changed."""
        if correction.kind not in _KEEPS_NAMES:
            self._touch(correction)
        refresh_entities(self._store, before, self._embedding or None)
        if correction.kind not in _KEEPS_COMMUNITIES:
            outdate_communities(self._store)

    def _statement(self, correction: Correction) -> Prepared:
        """Return the document of a relation that a person states."""
        text, spans = _sentence(correction)
        document = Document(
            CORRECTION_URI + correction.id,
            text,
            title=f"Stated by {correction.author}",
            language=detect_language(text),
            metadata={"author": correction.author, "date": correction.made[:10]},
        )
        section = SectionTree(document).sections[0]
        span = Span(0, len(text))
        chunk = Chunk(
            id=content_id("chunk", document.id, *span, text),
            document_id=document.id,
            section_id=section.id,
            ordinal=0,
            span=span,
            text=text,
            sentences=(span,),
            document_title=document.title,
        )
        ends = correction.entity_ids[0], correction.other_ids[0]
        corrections = read_corrections(self._store)
        names, types = (former_names_of(corrections, kind) for kind in ("rename", "retype"))
        known = self._store.graph.entities(ends)
        mentions = []
        forms = correction.forms[0], correction.other_forms[0]
        shown = correction.entity, correction.other
        for form, words, place in zip(forms, shown, spans, strict=True):
            key = entity_id(form)
            entity = known.get(key)
            # With the name and the type that documents give, it changes neither.
            name = names.get(key, entity.name if entity else words)
            type_ = types.get(key, entity.type if entity else "")
            mentions.append(Mention(chunk.id, form, name, type_, (place,), _STATED_ABOUT))
        relation = Relation(chunk.id, ends[0], correction.relation, ends[1], 1, span)
        extraction = Extraction(chunk.id, tuple(mentions), (relation,))
        keys = (self._embedding.chunk_key(chunk),) if self._embedding else ()
        source = imported_source(document, CORRECTION_URI)
        return Prepared(source, document, (section,), (chunk,), (extraction,), "", keys)

    def _vectors(self, statement: Prepared) -> dict[str, PassageVectors]:
        """Return the vectors of a statement by content key, before its transaction."""
        if statement.keys in ((), (NO_VECTORS,)):
            return {}
        rows = self._embedding.embed_chunks(statement.chunks)
        return dict(zip(statement.keys, rows, strict=True))


def parse_corrections(lines: Iterable[str]) -> list[Correction]:
    """Return the corrections in lines of JSON. Raises ConfigError for a line that is not one."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            fields = {name: given[name] for name in Correction.__dataclass_fields__}
            texts = {
                name: _checked(name, value) for name, value in fields.items() if name in _TEXTS
            }
            lists = {name: _parse_forms(fields[name]) for name in ("forms", "other_forms")}
            lists["documents"] = tuple(map(str, fields["documents"]))
            correction = Correction(**{**fields, **texts, **lists})
            said = {name: texts[name] for name in _SAID}
            _check_fields(correction.kind, {**said, "documents": lists["documents"]})
            if correction.other:
                _ = correction.other_forms[0]
            found.append(replace(correction, id=correction_id(correction)))
        except (ValueError, TypeError, LookupError, AttributeError, ConfigError) as error:
            raise ConfigError(
                f"Line {number} is not a correction: {line.strip()[:80]}",
                fix="Give lines of `knotwork graph corrections --lines`.",
            ) from error
    return found


_SAID = ("other", "relation", "name", "type")
_TEXTS = ("entity", "was", "author", "made", *_SAID)


def _parse_forms(forms: Iterable[str]) -> tuple[str, ...]:
    if any(form != normal_form(form) or not form for form in forms):
        raise ValueError("not a normal form")
    return tuple(forms)


def correction_id(correction: Correction) -> str:
    """Return the id of a correction, which follows from what it says and not from who said it."""
    said = correction.name, correction.type, *sorted(correction.documents)
    return content_id("correction", correction.kind, *subject_of(correction), *said)


def _checked(field: str, value: str) -> str:
    """Return a text on one line. Raises ConfigError for one that cannot be stored."""
    text = one_line(value)
    if len(text) > _LONGEST or not text.isprintable():
        raise ConfigError(
            f"The {field} {text[:40]!r} is too long, or has characters that cannot be shown.",
            fix=f"Give at most {_LONGEST} printable characters.",
        )
    return text


def _check_fields(kind: str, fields: Mapping[str, str | Sequence[str]]) -> None:
    """Raise UnknownName or ConfigError if a kind of correction does not exist or fit its fields."""
    if kind not in CORRECTION_KINDS:
        raise UnknownName("kind of correction", kind, [*CORRECTION_KINDS, SHOW])
    needed = CORRECTION_KINDS[kind]
    for field, value in fields.items():
        if bool(value) == (field in needed):
            continue
        if value:
            raise ConfigError(
                f"A correction of the kind `{kind}` has no `{field}`.", fix="Leave it out."
            )
        raise ConfigError(
            f"A correction of the kind `{kind}` needs `{field}`.",
            fix=f"It takes `entity`{''.join(f', `{name}`' for name in needed)}.",
        )


def _sentence(correction: Correction) -> tuple[str, tuple[Span, Span]]:
    """Return the sentence of a stated relation, and the places of its ends."""
    opening = f"{correction.entity} {correction.relation} "
    text = opening + correction.other
    end = len(text)
    ended = text if text.endswith((".", "。")) else f"{text}{'。' if has_han(text) else '.'}"
    return ended, (Span(0, len(correction.entity)), Span(len(opening), end))


def _recorded(
    store: Store, corrections: Sequence[Correction], *, only: str = ""
) -> list[RecordedCorrection]:
    """Return corrections with the reasons why some are not applied, all or that with one id."""
    effective = {correction.id for correction in in_effect(corrections).values()}
    wanted = [correction for correction in corrections if only in ("", correction.id)]
    ids = {key for c in wanted for key in (*c.entity_ids, *c.other_ids)}
    present = store.graph.entities(ids).keys()
    aside = require_corrections(store).set_aside()
    return [
        RecordedCorrection(
            correction,
            _why_not(store, correction, present, aside.entities, aside.relations)
            if correction.id in effective
            else "replaced",
        )
        for correction in wanted
    ]


def _why_not(
    store: Store,
    correction: Correction,
    present: Iterable[str],
    hidden: frozenset[str],
    removed: frozenset[tuple[str, str, str]],
) -> Reason:
    kind, there = correction.kind, set(present)
    if kind == "hide":
        return "" if hidden.intersection(correction.entity_ids) else "gone"
    if kind == "remove_relation":
        ends = set(correction.entity_ids), set(correction.other_ids)
        stated = (
            {one, other} & ends[0] and {one, other} & ends[1]
            for one, relation, other in removed
            if relation == correction.relation
        )
        return "" if any(stated) else "not_stated"
    named = (*correction.entity_ids[:1], *correction.other_ids[:1])
    if kind == "divide":  # all documents may mean the other one
        named = correction.other_ids
    if kind == "add_relation":
        document = Document(CORRECTION_URI + correction.id, "").id
        if not store.documents.documents([document]):
            return "deleted"
    if missing := [key for key in named if key not in there]:
        return "hidden" if hidden.intersection(missing) else "gone"
    if kind == "merge":
        groups = require_resolutions(store).groups()
        return "" if groups.get(named[0], named[0]) == groups.get(named[1]) else "kept_apart"
    return ""
