"""Measure searches on PostgreSQL beside those on an index file, also with a slow network.

    python benchmarks/speed/servers.py --data DIR --size 100000 --cache FOLDER --url URL

The index is the one of `search.py`, copied to the URL unless it is there. Each retriever answers
the same questions on the file, on the server, and on the server behind a proxy that holds every
reply back for the delay, so that a statement takes so much longer. Hits are compared: "equal"
counts the questions with the same ids in the same order. The vector of a question is at hand. "st."
is the median number of statements that a question sends to the server, the begin and the end of a
transaction included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from remixed import Asked, ask
from search import WARM_CALLS, K, KnownVectors, make_index, percentiles, run_apart

from knotwork._extensions.postgres.connection import read_address
from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.upkeep.copies import copy_index
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import StoreNotFound
from knotwork.records import Query

RETRIEVERS = ("bm25", "dense", "hybrid", "auto", "paths", "pagerank", "explore", "siblings")
_BLOCK_BYTES = 1 << 16


def serve_slowly(address: tuple[str, int] | str, delay_s: float, port: Any) -> None:  # noqa: ANN401
    """Forward connections to a server, holding back what it sends; put the own port in a queue."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = (
            asyncio.open_unix_connection(address)
            if isinstance(address, str)
            else asyncio.open_connection(*address)
        )
        far_reader, far_writer = await opened
        await asyncio.gather(pump(reader, far_writer, 0.0), pump(far_reader, writer, delay_s))

    async def pump(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hold_s: float
    ) -> None:
        """Pass blocks on, each ``hold_s`` after it came; blocks in flight do not wait in turn."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def send() -> None:
            while True:
                due, block = await waiting.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                if not block:
                    break
                writer.write(block)
                await writer.drain()
            writer.close()

        sending = asyncio.create_task(send())
        while block := await reader.read(_BLOCK_BYTES):
            waiting.put_nowait((time.monotonic() + hold_s, block))
        waiting.put_nowait((0.0, b""))
        await sending

    async def serve() -> None:
        server = await asyncio.start_server(forward, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def delayed(url: str, delay_s: float) -> Iterator[str]:
    """Yield the URL of the same index behind a proxy in a process of its own."""
    address = read_address(url)
    parts: dict[str, Any] = conninfo_to_dict(address.conninfo)
    host, number = str(parts.get("host") or "localhost"), int(parts.get("port") or 5432)
    far = f"{host}/.s.PGSQL.{number}" if host.startswith("/") else (host, number)
    port: Any = multiprocessing.Queue()
    proxy = multiprocessing.Process(target=serve_slowly, args=(far, delay_s, port), daemon=True)
    proxy.start()
    try:
        user = parts.get("user", "")
        yield (
            f"postgresql://{user}@127.0.0.1:{port.get(timeout=20)}/{parts.get('dbname', '')}"
            f"?sslmode=disable&index={address.schema}"
        )
    finally:
        proxy.kill()


def round_trip_ms(url: str) -> float:
    """Return the median time of the smallest statement."""
    times = []
    with psycopg.connect(read_address(url).conninfo, autocommit=True) as connection:
        for _ in range(50):
            start = time.perf_counter()
            connection.execute("SELECT 1").fetchone()
            times.append(time.perf_counter() - start)
    return 1_000 * statistics.median(times)


def measure(store: Store, asked: Sequence[Asked], name: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the times of a retriever, and the ids of its hits by question."""
    retriever = build_retriever(name, store=store, embedder=KnownVectors(asked))
    queries = [Query(item.text, k=K) for item in asked]
    for query in queries[:WARM_CALLS]:
        retriever.retrieve(query)
    times, hits, statements = [], [], []
    for query in queries:
        start = time.perf_counter()
        evidence = retriever.retrieve(query)
        times.append(time.perf_counter() - start)
        hits.append([hit.chunk.id for hit in evidence.hits])
    if isinstance(store, PostgresStore):
        for query in queries[:20]:
            with store.watched() as sent:
                retriever.retrieve(query)
            statements.append(len(sent))
    result: dict[str, Any] = percentiles(times)
    if statements:
        result["statements"] = statistics.median(statements)
    return result, hits


def copy_if_missing(path: Path, url: str) -> float:
    """Copy the index to the server, and return the seconds; 0 if it is there."""
    try:
        open_store(url, read_only=True).close()
    except StoreNotFound:
        start = time.perf_counter()
        copy_index(str(path), url)
        return time.perf_counter() - start
    return 0.0


def compare(path: Path, url: str, asked: Sequence[Asked], delay_ms: float) -> dict[str, Any]:
    """Measure all retrievers on the three ways to one index, in turn."""
    result: dict[str, Any] = {"questions": len(asked), "round_trip_ms": {}}
    with delayed(url, delay_ms / 1_000) as slow:
        places = {"file": str(path), "server": url, f"server + {delay_ms:g} ms": slow}
        for place in list(places)[1:]:
            result["round_trip_ms"][place] = round_trip_ms(places[place])
        stores = {place: open_store(where, read_only=True) for place, where in places.items()}
        result["chunks"] = stores["file"].documents.chunk_count()
        for name in RETRIEVERS:
            expected: list[Any] = []
            for place, store in stores.items():
                row, hits = measure(store, asked, name)
                expected = expected or hits
                equal = sum(one == other for one, other in zip(expected, hits, strict=True))
                result.setdefault(name, {})[place] = row | {"equal": equal}
        for store in stores.values():
            store.close()
    return result


def show(result: dict[str, Any]) -> None:
    trips = ", ".join(f"{place} {ms:.2f} ms" for place, ms in result["round_trip_ms"].items())
    print(f"{result['chunks']:,} chunks, {result['questions']} questions; round trip: {trips}")
    print(f"{'retriever':12}{'where':>16}{'p50 ms':>9}{'p95 ms':>9}{'x':>7}{'st.':>6}{'equal':>7}")
    for name in RETRIEVERS:
        first = result[name]["file"]["p50_ms"]
        for place, row in result[name].items():
            count = f"{row['statements']:.0f}" if "statements" in row else ""
            print(
                f"{name:12}{place:>16}{row['p50_ms']:9.1f}{row['p95_ms']:9.1f}"
                f"{row['p50_ms'] / first:7.2f}{count:>6}{row['equal']:7}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--size", type=int, default=100_000, help="chunks")
    parser.add_argument("--cache", type=Path, required=True, help="where the index file is kept")
    parser.add_argument("--url", required=True, help="postgresql://…?index=NAME")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--delay-ms", type=float, default=2.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    path = options.cache / f"search-{options.size}.knot"
    if not path.exists():
        print(f"made {path}: {run_apart(make_index, path, options.data, options.size)}")
    copied_s = copy_if_missing(path, options.url)
    with closing(open_store(options.url, read_only=True)):
        result = compare(
            path, options.url, ask(options.data, options.questions, options.size), options.delay_ms
        )
    result["copied_s"] = copied_s
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
