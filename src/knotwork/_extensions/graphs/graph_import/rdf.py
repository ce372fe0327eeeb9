"""Read RDF with pyoxigraph: triples of IRIs as relations, literals as properties, labels as names.

Nothing is fetched: these formats have no remote contexts and no external entities. An invalid
statement is skipped, and the parser continues after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork._extensions.graphs.graph_import.formats import (
    EntityRow,
    GraphElement,
    ImportOptions,
    ReadBytes,
    ReadFault,
    RelationRow,
    kind_named,
    parse_value,
)
from knotwork._extensions.graphs.graph_import.spool import local_name, short_name
from knotwork.errors import required

if TYPE_CHECKING:
    import pyoxigraph


_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_TYPE = f"{_RDF}type"
_NAMES = frozenset(
    {
        "http://www.w3.org/2000/01/rdf-schema#label",
        "http://www.w3.org/2004/02/skos/core#prefLabel",
        "http://xmlns.com/foaf/0.1/name",
        "http://schema.org/name",
        "https://schema.org/name",
    }
)
_ALIASES = frozenset(
    {
        "http://www.w3.org/2004/02/skos/core#altLabel",
        "http://www.w3.org/2004/02/skos/core#hiddenLabel",
        "http://schema.org/alternateName",
        "https://schema.org/alternateName",
        "http://xmlns.com/foaf/0.1/nick",
    }
)
_FIRST_LANGUAGES = ("", "en", "zh")
_BASE = "urn:knotwork:base/"
_MOST_FAULTS = 1_000_000
_PROGRESS_STATEMENTS = 5_000


def _read(path: Path, options: ImportOptions, *, format: str) -> Iterator[GraphElement]:  # noqa: A002
    """Yield the statements of a file as elements. Raises MissingExtra without pyoxigraph."""
    del options
    with required("Reading RDF", "rdf"):
        import pyoxigraph
    kind = getattr(pyoxigraph.RdfFormat, format)
    with path.open("rb") as file:
        quads = pyoxigraph.parse(input=file, format=kind, base_iri=_BASE)
        names: dict[str, str] = {}
        number = faults = 0
        while faults < _MOST_FAULTS:
            try:
                quad = next(quads)
            except StopIteration:
                return
            except SyntaxError as error:
                faults += 1
                message = str(error.args[0] if error.args else error)
                reason = message.partition(": ")[2] or message  # without the position
                yield ReadFault(error.lineno or 0, reason)
                continue
            number += 1
            if number % _PROGRESS_STATEMENTS == 0:
                yield ReadBytes(file.tell())
            yield from _elements(quad, names)
        yield ReadFault(0, f"more than {_MOST_FAULTS:,} invalid statements: the rest was skipped")


read_turtle = partial(_read, format="TURTLE")
read_ntriples = partial(_read, format="N_TRIPLES")
read_nquads = partial(_read, format="N_QUADS")
read_trig = partial(_read, format="TRIG")


def _elements(quad: Any, names: dict[str, str]) -> Iterator[GraphElement]:  # noqa: ANN401
    import pyoxigraph

    subject, predicate, target = quad.subject, quad.predicate.value, quad.object
    if not isinstance(subject, pyoxigraph.NamedNode | pyoxigraph.BlankNode):
        yield ReadFault(0, "statements about statements are not supported", str(subject))
        return
    key = _key(subject, names)
    if isinstance(target, pyoxigraph.Literal):
        yield from _literal(key, predicate, target)
    elif not isinstance(target, pyoxigraph.NamedNode | pyoxigraph.BlankNode):
        yield ReadFault(0, "statements about statements are not supported", str(target))
    elif predicate == _TYPE and isinstance(target, pyoxigraph.NamedNode):
        yield EntityRow(key, labels=(local_name(target.value),))
    else:
        yield RelationRow(key, predicate, _key(target, names))


def _literal(key: str, predicate: str, literal: pyoxigraph.Literal) -> Iterator[GraphElement]:
    text = literal.value
    if predicate in _NAMES and text.strip():
        language = (literal.language or "").partition("-")[0]
        first = language in _FIRST_LANGUAGES
        yield EntityRow(key, (text,)) if first else EntityRow(key, aliases=(text,))
    elif predicate in _ALIASES:
        yield EntityRow(key, aliases=(text,))
    else:
        kind = literal.datatype.value.rpartition("#")[2]
        value = parse_value(text, "float" if kind == "decimal" else kind_named(kind))
        yield EntityRow(key, properties={short_name(predicate): value})


def _key(term: pyoxigraph.NamedNode | pyoxigraph.BlankNode, names: dict[str, str]) -> str:
    """Return an IRI, or the number of a blank node in the file: the parser names it at random."""
    import pyoxigraph

    is_blank = isinstance(term, pyoxigraph.BlankNode)
    return names.setdefault(term.value, f"_:{len(names) + 1}") if is_blank else term.value
