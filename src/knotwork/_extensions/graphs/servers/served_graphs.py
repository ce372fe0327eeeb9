"""The graphs on servers that an index uses: connections that it remembers, and its mirror.

A connection is a setting of the index: name, URL and the name of the variable with the password,
never the password. Nothing here connects before a statement is run, and the languages and drivers
are imported then.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

from knotwork._config import GraphSettings, SecretRef
from knotwork._extensions.graphs.servers.server_address import (
    ServerAddress,
    check_connection_name,
    password_variable,
    read_address,
)
from knotwork._stores.base import Store, require_cypher
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork.errors import ConfigError, MirrorOutdated, QueryRefused, UnknownName
from knotwork.records import Direction, PropertyValue, QueryResult, Subgraph

if TYPE_CHECKING:
    from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection
    from knotwork._extensions.graphs.servers.mirror import Mirror, Stamp
    from knotwork._extensions.graphs.servers.sparql_endpoint import SparqlEndpoint

CONNECTIONS_META = "graph.connections"
"""The name of the setting of an index that has its connections, as JSON."""

Server = TypeVar("Server", "BoltConnection", "SparqlEndpoint")

CYPHER, SPARQL = "cypher", "sparql"
ON_INDEX, ON_MIRROR = "index", "mirror"
_SCHEMA_S = 300.0
"""How long the schema and values of a live graph are used before they are read again."""

_CHECK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class GraphConnection:
    """A live graph that an index is connected to, and only reads.

    ``language`` is "cypher" or "sparql", ``server`` the kind of server, ``password_env`` the
    variable with its password ("" without a login). ``is_tested`` is False for a kind of server
    that Knotwork was not tested against.
    """

    name: str
    url: str
    language: str
    server: str
    password_env: str = ""
    is_tested: bool = True


class ServedGraphs:
    """The connections and the mirror of one index. Safe for many threads."""

    def __init__(self, store: Store, settings: GraphSettings) -> None:
        if settings.cypher not in (ON_INDEX, ON_MIRROR):
            raise UnknownName("value of graph.cypher", settings.cypher, (ON_INDEX, ON_MIRROR))
        self._store = store
        self._settings = settings
        self._open: dict[str, tuple[ServerAddress, BoltConnection | SparqlEndpoint]] = {}
        self._given: dict[str, ServerAddress] = {}
        self._lock = threading.RLock()
        self._started_s = time.monotonic()

    def serve(self) -> Store:
        """Return the index as a store whose Cypher statements run where the settings say."""
        return ServedStore(self._store, self)

    def connections(self) -> list[GraphConnection]:
        """Return the connections of the index, by name; a part of an index has none."""
        if self._store.capabilities.whole is not None:
            return []
        known = {item.name for item in fields(GraphConnection)}
        stored = json.loads(self._store.meta().get(CONNECTIONS_META, "[]"))
        return [
            GraphConnection(**{key: value for key, value in item.items() if key in known})
            for item in stored
        ]

    def names(self, language: str = CYPHER) -> list[str]:
        """Return the names of the connections whose server speaks a language."""
        return [item.name for item in self.connections() if item.language == language]

    def version(self, name: str) -> int:
        """Return a number that changes whenever the schema of a live graph is to be read again."""
        del name
        return int((time.monotonic() - self._started_s) / _SCHEMA_S)

    def connect(self, url: str, name: str, *, password_env: str = "") -> GraphConnection:
        """Connect to a live graph, check that it answers, and remember it with the index.

        A password in ``url`` is used until this object is closed, and stored nowhere. Raises
        ConfigError for an invalid URL or name or one in use, GraphServerError if the server does
        not answer, StoreReadOnly.
        """
        check_connection_name(name)
        graphs = self._store.capabilities.property_graphs
        if graphs is not None and name in graphs.names():
            raise ConfigError(
                f"There is an imported graph `{name}` already.", fix="Choose another name."
            )
        address = read_address(url)
        env = (password_env or password_variable(name)) if address.user else ""
        address = address.with_secret(SecretRef(env) if env else None)
        with self._lock:
            self._close_one(name)
            self._given[name] = address
            try:
                connection = self._describe(name, address, env)
            except Exception:
                self._close_one(name)
                self._given.pop(name, None)
                raise
        with self._store.transaction():
            others = [item for item in self.connections() if item.name != name]
            self._remember([*others, connection])
        return connection

    def disconnect(self, name: str) -> None:
        """Forget a connection. Raises UnknownName."""
        with self._store.transaction():
            known = self.connections()
            self._require(name, known)
            self._remember([item for item in known if item.name != name])
        with self._lock:
            self._close_one(name)
            self._given.pop(name, None)

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a Cypher statement on the index, its mirror or a live graph; see `CypherRunner`."""
        if graph == OWN_GRAPH and self.uses_mirror:
            from knotwork._extensions.graphs.servers.server_statements import run_on_server

            return run_on_server(
                self._mirror_connection(),
                statement,
                parameters,
                row_limit=row_limit,
                timeout_s=timeout_s,
                check_mirror=self._check_mirror,
            )
        connections = self.connections() if graph != OWN_GRAPH else []
        found = next((item for item in connections if item.name == graph), None)
        if found is not None and found.language != CYPHER:
            raise QueryRefused(
                f"The graph `{graph}` is asked in SPARQL, not in Cypher.",
                fix=f"Use: knotwork graph query {graph} 'SELECT …'",
            )
        if found is not None:
            return self.query(
                graph, statement, parameters, row_limit=row_limit, timeout_s=timeout_s
            )
        run = require_cypher(self._store)
        return run(statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s)

    def query(
        self,
        name: str,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement in the language of a live graph, which it can only read.

        Raises UnknownName, QueryRefused, QuerySyntaxError, QueryTimeout and GraphServerError.
        """
        found = self._require(name, self.connections())
        place = f"the graph {name}"
        if found.language == SPARQL:
            if parameters:
                raise QueryRefused(
                    "A SPARQL query takes no parameters.", fix="Write the values into the query."
                )
            endpoint = self._sparql(found.name, self._address(found))
            result = endpoint.query(statement, row_limit=row_limit, timeout_s=timeout_s)
        else:
            from knotwork._extensions.graphs.servers.server_statements import run_on_server

            result = run_on_server(
                self._bolt(found.name, self._address(found)),
                statement,
                parameters,
                row_limit=row_limit,
                timeout_s=timeout_s,
            )
        return replace(result, place=place)

    @property
    def uses_mirror(self) -> bool:
        """True if Cypher on the graph of the documents runs on the mirror.

        Inside of a transaction it does not, as only the index has what is not committed, nor over a
        part of an index.
        """
        is_whole = self._store.capabilities.whole is None
        return self._settings.cypher == ON_MIRROR and is_whole and not self._store.writing

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction,
        depth: int,
        fan: int | None,
        limit: int | None,
    ) -> Subgraph:
        """Walk the mirror as `GraphStore.explore` walks the index. Raises MirrorOutdated."""
        from knotwork._extensions.graphs.servers.mirror import walk_mirror

        return walk_mirror(
            self._mirror_connection(),
            seeds,
            check_mirror=self._check_mirror,
            direction=direction,
            depth=depth,
            fan=fan,
            limit=limit,
        )

    def mirror(self) -> Mirror:
        """Return the mirror of the index. Raises ConfigError if none is set."""
        from knotwork._extensions.graphs.servers.mirror import Mirror

        return Mirror(self._store, self._mirror_connection())

    def close(self) -> None:
        """Close all connections; a later statement opens them again."""
        with self._lock:
            for name in list(self._open):
                self._close_one(name)

    def _check_mirror(self, stamps: Sequence[Stamp]) -> None:
        """Raise MirrorOutdated unless the stamp is that of the index as it is now."""
        from knotwork._extensions.graphs.servers.mirror import BUILDING, INDEX_META

        index = self._store.meta().get(INDEX_META, "")
        if len(stamps) == 1 and stamps[0].is_current(index, self._store.generation()):
            return
        if not stamps:
            problem = f"The database {self._settings.mirror} has no mirror of this index."
        elif any(stamp.state == BUILDING for stamp in stamps):
            problem = f"The mirror at {self._settings.mirror} is not finished."
        else:
            problem = f"The mirror at {self._settings.mirror} is not of the index as it is now."
        raise MirrorOutdated(
            problem, fix="Run `knotwork graph mirror`, or set graph.cypher to index."
        )

    def _mirror_connection(self) -> BoltConnection:
        if not self._settings.mirror:
            raise ConfigError(
                "No mirror is set.",
                fix="Set graph.mirror to the URL of a database: bolt://USER@HOST:7687/DATABASE.",
            )
        address = read_address(self._settings.mirror)
        if address.is_sparql:
            raise ConfigError(
                f"`graph.mirror` is {address.url}, but a mirror needs a server that speaks Bolt."
            )
        return self._bolt(OWN_GRAPH, address.with_secret(self._settings.mirror_password))

    def _describe(self, name: str, address: ServerAddress, env: str) -> GraphConnection:
        """Ask the server what it is, and return the connection to it."""
        if address.is_sparql:
            endpoint = self._sparql(name, address)
            endpoint.query("ASK { }", row_limit=1, timeout_s=_CHECK_TIMEOUT_S)
            return GraphConnection(name, address.url, SPARQL, "SPARQL 1.1", env)
        dialect = self._bolt(name, address).dialect()
        return GraphConnection(
            name, address.url, CYPHER, dialect.name, env, is_tested=dialect.is_tested
        )

    def _require(self, name: str, known: Sequence[GraphConnection]) -> GraphConnection:
        for item in known:
            if item.name == name:
                return item
        raise UnknownName("connection", name, [item.name for item in known])

    def _remember(self, connections: Sequence[GraphConnection]) -> None:
        items = [asdict(item) for item in sorted(connections, key=lambda item: item.name)]
        self._store.set_meta({CONNECTIONS_META: json.dumps(items)})

    def _address(self, connection: GraphConnection) -> ServerAddress:
        given = self._given.get(connection.name)
        if given is not None and given.url == connection.url:
            return given
        secret = SecretRef(connection.password_env) if connection.password_env else None
        return read_address(connection.url).with_secret(secret)

    def _bolt(self, name: str, address: ServerAddress) -> BoltConnection:
        from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection

        return self._kept(name, address, BoltConnection)

    def _sparql(self, name: str, address: ServerAddress) -> SparqlEndpoint:
        from knotwork._extensions.graphs.servers.sparql_endpoint import SparqlEndpoint

        return self._kept(name, address, SparqlEndpoint)

    def _kept(self, name: str, address: ServerAddress, kind: type[Server]) -> Server:
        """Return the open connection of a name, or open it."""
        with self._lock:
            kept = self._open.get(name)
            if kept is None or kept[0] != address or not isinstance(kept[1], kind):
                self._close_one(name)
                opened = kind(address)
                self._open[name] = address, opened
                return opened
            return kept[1]

    def _close_one(self, name: str) -> None:
        kept = self._open.pop(name, None)
        if kept is not None:
            kept[1].close()


class ServedStore:
    """A store as it is, except that `Capabilities.cypher` finds connected graphs and the mirror."""

    def __init__(self, store: Store, graphs: ServedGraphs) -> None:
        whole = store.capabilities
        self.capabilities = (
            whole if whole.cypher is None else replace(whole, cypher=graphs.run, live_graphs=graphs)
        )
        self._store = store
        self.url = store.url
        self.documents, self.graph, self.ledger = store.documents, store.graph, store.ledger
        self.texts, self.vectors = store.texts, store.vectors
        self.meta, self.set_meta = store.meta, store.set_meta
        self.transaction, self.reading = store.transaction, store.reading
        self.remove_documents = store.remove_documents
        self.generation, self.close = store.generation, store.close

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction of the store."""
        return self._store.writing
