"""Propose an extraction schema for an index: by a model from sampled chunks, or by counting."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

from knotwork._config import Settings
from knotwork._extensions.model_indexing.reply_formats import UNNAMED_RELATION
from knotwork._extensions.schemas.discovery import propose_schema
from knotwork._extensions.schemas.proposals import SchemaCounts, SchemaProposal, word_key
from knotwork._inference.chat import ChatModel, TokenUsage
from knotwork._inference.model_registry import calls_at_once
from knotwork._inference.own_prompts import read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._stores.base import DocumentStore, Store, companions_of
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.records import ALIAS_RELATION, CO_OCCURRENCE_RELATION, ENTITY_EDGES, Chunk

SAMPLE_CHUNKS = 40
MOST_TYPES = 12
MOST_RELATIONS = 20

_SKIPPED_RELATIONS = frozenset({ALIAS_RELATION, CO_OCCURRENCE_RELATION, *UNNAMED_RELATION.values()})
_SKIPPED_TYPES = frozenset({"", "NUMBER"})
_BATCH = 2_048


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """A proposed schema, the model that proposed it, what it read, and the cost.

    ``model`` is empty if the schema was counted. ``usage`` is by stage; ``money`` is None if a
    price is unknown.
    """

    proposal: SchemaProposal
    model: str
    chunks: int
    documents: int
    usage: Mapping[str, TokenUsage] = field(default_factory=dict)
    money: Decimal | None = None
    notes: tuple[str, ...] = ()


def propose_for_index(
    store: Store,
    settings: Settings,
    *,
    chunks: int = SAMPLE_CHUNKS,
    most_types: int = MOST_TYPES,
    most_relations: int = MOST_RELATIONS,
    budget: str = "",
    counts_only: bool = False,
    chat_model: ChatModel | None = None,
) -> ProposalReport:
    """Return a schema for the contents of an index, without writing to it.

    If a model for extraction is set, it reads a sample of ``chunks``, and its replies are cached
    beside the index. Without one, or with ``counts_only``, the entities and relations of the index
    are counted. ``budget`` is a ceiling in the syntax of `parse_ceiling`; ``chat_model`` replaces
    the model in the settings. Raises ConfigError for an empty index, BudgetExceeded at the ceiling,
    ModelError if the model fails, Unparsable if no reply can be read.
    """
    if not store.documents.chunk_count():
        raise ConfigError(
            "The index holds no passages to propose a schema from.",
            fix="Add documents with: knotwork index FOLDER",
        )
    models = ModelRun(
        settings.llm,
        companions=companions_of(store),
        count_tokens=count_tokens,
        model=chat_model,
        budget=budget,
        retry=True,
        prompts=read_prompt_folder(settings.prompts.dir),
    )
    with closing(models):
        model = None if counts_only else models.open("extract")
        if model is None:
            counted = count_schema(store, most_types=most_types, most_relations=most_relations)
            held = store.documents
            return ProposalReport(counted, "", held.chunk_count(), held.document_count())
        sample = sample_chunks(store.documents, chunks)
        proposal = propose_schema(
            model,
            sample,
            most_types=most_types,
            most_relations=most_relations,
            concurrency=calls_at_once(settings.llm, "extract"),
        )
        return ProposalReport(
            proposal,
            model.name,
            len(sample),
            len({chunk.document_id for chunk in sample}),
            models.meter.by_stage(),
            models.meter.money(models.prices),
            models.notes,
        )


def sample_chunks(documents: DocumentStore, count: int) -> list[Chunk]:
    """Return at most ``count`` leaf chunks, spread evenly over all documents and over each one.

    The sample is the same every time. Documents alternate in it.
    """
    ids = documents.document_ids()  # hashes, ascending: an even step through them is a fair sample
    chosen = [ids[place] for place in _spread(len(ids), min(count, len(ids)))]
    leaves = {document_id: _leaves(documents, document_id) for document_id in chosen}
    shares = dict.fromkeys(chosen, 0)
    left = min(count, sum(map(len, leaves.values())))
    while left:
        for document_id in chosen:
            if left and shares[document_id] < len(leaves[document_id]):
                shares[document_id] += 1
                left -= 1
    picked = [
        [leaves[document_id][place] for place in _spread(len(leaves[document_id]), share)]
        for document_id, share in shares.items()
    ]
    longest = max(map(len, picked), default=0)
    order = [row[turn] for turn in range(longest) for row in picked if turn < len(row)]
    found = documents.chunks(order)
    return [found[chunk_id] for chunk_id in order]


def _spread(size: int, count: int) -> list[int]:
    """Return ``count`` positions in a list of ``size``, evenly apart and away from its ends."""
    return [(2 * place + 1) * size // (2 * count) for place in range(count)]


def _leaves(documents: DocumentStore, document_id: str) -> list[str]:
    """Return the ids of a document's leaf chunks, which come before its parent chunks."""
    ids = documents.chunk_ids_of([document_id]).get(document_id, [])

    def is_parent(chunk_id: str) -> bool:
        return documents.chunks([chunk_id])[chunk_id].is_parent

    if ids and is_parent(ids[-1]):
        return ids[: bisect_left(ids, True, key=is_parent)]
    return ids


def count_schema(
    store: Store, *, most_types: int = MOST_TYPES, most_relations: int = MOST_RELATIONS
) -> SchemaProposal:
    """Return a schema counted in an index: types by entities, relations by pairs of entities.

    Only entities with a relation count. Types and relations that occur once are left out, and so
    are relations without a content word and relations named like an entity. Rules find few types,
    and name relations by any words between two names, so the result is a list to choose from.
    """
    counts = SchemaCounts(word_key)
    types: dict[str, str] = {}
    facts: Counter[tuple[str, str, str]] = Counter()
    scanned = store.graph.edges(types=ENTITY_EDGES)
    while edges := list(islice(scanned, _BATCH)):
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        for entity_id, kind in _types_of(store, ends - types.keys()):
            types[entity_id] = kind
            if kind:
                counts.add_type(kind)
        for edge in edges:
            if edge.relation not in _SKIPPED_RELATIONS and content_terms(edge.relation):
                facts[types.get(edge.source, ""), edge.relation, types.get(edge.target, "")] += 1
    names = store.graph.lookup({normal_form(relation) for _, relation, _ in facts})
    for (source, relation, target), times in facts.items():
        if normal_form(relation) not in names:
            counts.add_relation(source, relation, target, times=times)
    return counts.proposal(
        most_types=most_types,
        most_relations=most_relations,
        least=2,
        counted="entities and pairs of entities in the index",
    )


def _types_of(store: Store, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    for entity_id, entity in sorted(store.graph.entities(set(ids)).items()):
        yield entity_id, "" if entity.type in _SKIPPED_TYPES else entity.type
