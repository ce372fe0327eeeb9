"""Measure what wider ids would cost in the index file: `python benchmarks/identifiers/measure.py`.

The mentions of an index, its largest table, are written with keys of three kinds: 63 bits in an
integer, as they are; 126 bits in two integers; 128 bits in a blob. Everything else is as in the
index file: the clustered primary key, the index by entity, batches of 1,024 chunks. It prints
ratios to the first kind, of bytes, of processor time to write, and of time to look up.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

CHUNKS = 60_000
ENTITIES = 40_000
MENTIONS = 15
BATCH_CHUNKS = 1_024
LOOKUPS = 20_000

_SPANS = bytes(8)

Key = tuple[int | bytes, ...]


def integers(bits: int) -> Key:
    """Return 63 bits as one integer."""
    return (bits >> 65,)


def pairs(bits: int) -> Key:
    """Return 126 bits as two integers."""
    return (bits >> 65, bits & ((1 << 63) - 1))


def blobs(bits: int) -> Key:
    """Return 128 bits as a blob."""
    return (bits.to_bytes(16, "big"),)


KINDS: Sequence[tuple[str, Callable[[int], Key], str, str]] = (
    ("63 bits, one integer", integers, "chunk INTEGER NOT NULL", "entity INTEGER NOT NULL"),
    (
        "126 bits, two integers",
        pairs,
        "chunk INTEGER NOT NULL, chunk_2 INTEGER NOT NULL",
        "entity INTEGER NOT NULL, entity_2 INTEGER NOT NULL",
    ),
    ("128 bits, a blob", blobs, "chunk BLOB NOT NULL", "entity BLOB NOT NULL"),
)


def measure(key_of: Callable[[int], Key], chunk: str, entity: str) -> tuple[int, float, float]:
    """Return bytes, seconds to write and seconds to look up."""
    chance = random.Random(1)
    chunks = [chance.getrandbits(128) for _ in range(CHUNKS)]
    entities = [chance.getrandbits(128) for _ in range(ENTITIES)]
    names = [[column.split()[0] for column in columns.split(", ")] for columns in (chunk, entity)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.db"
        connection = apsw.Connection(str(path))
        connection.pragma("page_size", 8_192)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "off")
        primary, by_entity = ", ".join(names[0] + names[1]), ", ".join(names[1])
        connection.execute(
            f"CREATE TABLE mention ({chunk}, {entity}, times INTEGER NOT NULL, about REAL NOT NULL,"
            " name TEXT NOT NULL, type TEXT NOT NULL, spans BLOB NOT NULL,"
            f" PRIMARY KEY ({primary})) WITHOUT ROWID"
        )
        covered = f"{by_entity}, about DESC, {', '.join(names[0])}, times"
        connection.execute(f"CREATE INDEX mention_by_entity ON mention ({covered})")
        places = ", ".join("?" for _ in range(5 + len(names[0]) + len(names[1])))
        started_s = time.process_time()
        for start in range(0, CHUNKS, BATCH_CHUNKS):
            with connection:
                connection.executemany(
                    f"INSERT OR REPLACE INTO mention VALUES ({places})",
                    (
                        (*key_of(one), *key_of(other), 1, chance.random(), "A name", "", _SPANS)
                        for one in chunks[start : start + BATCH_CHUNKS]
                        for other in chance.sample(entities, MENTIONS)
                    ),
                )
        written_s = time.process_time() - started_s
        connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()
        size = path.stat().st_size
        condition = " AND ".join(f"{name} = ?" for name in names[1])
        sql = f"SELECT {names[0][0]}, about FROM mention WHERE {condition} LIMIT 8"
        started_s = time.process_time()
        for _ in range(LOOKUPS):
            connection.execute(sql, key_of(chance.choice(entities))).fetchall()
        looked_up_s = time.process_time() - started_s
        connection.close()
    return size, written_s, looked_up_s


def main() -> None:
    """Print a table of ratios to the first kind."""
    found = [measure(key_of, chunk, entity) for _, key_of, chunk, entity in KINDS]
    first = found[0]
    out = sys.stdout
    out.write(f"{'keys':<24}{'MB':>8}{'bytes':>8}{'write':>8}{'read':>8}\n")
    for (name, *_), values in zip(KINDS, found, strict=True):
        ratios = "".join(f"{one / base:>8.2f}" for one, base in zip(values, first, strict=True))
        out.write(f"{name:<24}{values[0] / 1e6:>8.1f}{ratios}\n")


if __name__ == "__main__":
    main()
