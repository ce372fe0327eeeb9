"""Where the names of an index stand in its chunks: all of a chunk at once, and then the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from knotwork.indexing.exchange.foreign import ForeignIndex
from knotwork.indexing.exchange.labels import one_line, written_name
from knotwork.records import Chunk, Span
from knotwork.text.names import normal_form
from knotwork.transform.model.grounding import ChunkText

ChunksOf = Callable[[Iterable[str]], Sequence[Chunk]]


class Grounds:
    """The places of names in chunks; ``names`` has one name of each normal form, the first.

    The words of a chunk take megabytes while it is searched, and so it is searched once, for all
    names that the index links to it.
    """

    def __init__(
        self, index: ForeignIndex, chunks: Mapping[str, Chunk], chunks_of: ChunksOf
    ) -> None:
        self.names: dict[str, str] = {}
        self._chunks = chunks
        wanted: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for name, unit_ids in _links(index):
            form = normal_form(name)
            if form:
                self.names.setdefault(form, name)
                for chunk in chunks_of(unit_ids):
                    wanted[chunk.id][form] = None
        self._places = {key: self._search(key, forms) for key, forms in wanted.items()}

    def find(self, form: str, chunk_id: str) -> tuple[Span, ...]:
        """Return where a name stands in a chunk; () where it does not."""
        places = self._places.setdefault(chunk_id, {})
        if form not in places:
            places.update(self._search(chunk_id, (form,)))
        return places[form]

    def surface(self, span: Span, chunk_id: str) -> str:
        """Return what stands at a place, on one line."""
        chunk = self._chunks[chunk_id]
        offset = chunk.span.start
        return one_line(chunk.text[span.start - offset : span.end - offset])

    def _search(self, chunk_id: str, forms: Iterable[str]) -> dict[str, tuple[Span, ...]]:
        text = ChunkText(self._chunks[chunk_id])
        names = ((form, self.names[form]) for form in forms)
        return {form: text.find(name) or text.find_part(name) for form, name in names}


def _links(index: ForeignIndex) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield every name with the text units that are said to hold it, entities first."""
    for entity in index.entities:
        yield written_name(one_line(entity.name), entity.description), entity.unit_ids
    for relation in index.relations:
        for end in (relation.source, relation.target):
            yield one_line(end), relation.unit_ids
    for claim in index.claims:
        yield one_line(claim.subject), (claim.unit_id,)
        if claim.object:
            yield one_line(claim.object), (claim.unit_id,)
