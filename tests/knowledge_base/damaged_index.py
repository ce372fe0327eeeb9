"""An index with all kinds of pages, questions to it, and places to damage."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import apsw

import knotwork
from knotwork._config import Settings, load_settings

PAGE_BYTES = 8_192
QUESTIONS = ("Who leads the Harbour Office?", "Which office repairs cranes?", "Where is Port 7?")
PEOPLE = ("Ada Stone", "Bo Finch", "Cy Marsh", "Di Lowe", "Ed Quill", "Flo Reed")


def settings(*, embedder: str = "hashing:32") -> Settings:
    """Return settings that load no model."""
    return load_settings(
        environ={}, overrides={"embedding.model": embedder, "index.workers": 1}
    ).settings


def write_documents(folder: Path, *, count: int = 14) -> None:
    """Write documents that mention each other's people and places, and a table."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        person, other = PEOPLE[number % 6], PEOPLE[(number + 1) % 6]
        (folder / f"report-{number:02}.md").write_text(
            f"---\nauthor: {person}\n---\n# Report {number}\n\n"
            f"{person} leads the Harbour Office of Port {number}. {other} works for {person}.\n\n"
            + "\n\n".join(
                f"## Crane {number}-{part}\n\nThe Harbour Office repairs crane {number}-{part} in "
                f"Port {part}. {other} met {person} near dock {part * number} on day {part}."
                for part in range(5)
            ),
            "utf-8",
        )
    rows = "\n".join(f"Port {n},{n * 7}" for n in range(40))
    (folder / "ports.csv").write_text(f"port,cranes\n{rows}\n", "utf-8")


def build(path: Path, documents: Path) -> None:
    """Index documents, with communities."""
    with knotwork.open(path, settings=settings()) as kb:
        kb.index(documents)
        kb.communities.update()


def ask(path: Path, *, embedder: str = "hashing:32") -> list[object]:
    """Return what questions to all parts of an index find."""
    found: list[object] = []
    used = settings(embedder=embedder)
    with knotwork.open(path, settings=used, read_only=True) as kb:
        for question in QUESTIONS:
            hits = kb.search(question).hits
            found.append([(hit.chunk.id, round(hit.score, 6)) for hit in hits])
            found.append(kb.ask(question).text)
        found.append(
            [
                [member.entity_id for member in topic.community.members]
                for topic in kb.communities.stored()
            ]
        )
        names = kb.graph.cypher("MATCH (e:Entity) RETURN e.id AS id, e.name AS name ORDER BY id")
        found.append(names.rows)
        found.append(kb.tables.query("SELECT sum(cranes) FROM ports").rows)
        ids = kb.store.documents.document_ids()
        found.append(kb.store.documents.documents(ids))
        found += [kb.store.graph.relations(kb.store.documents.chunk_ids_of([i])[i]) for i in ids]
    return found


def rebuild_communities(path: Path) -> None:
    """Detect all communities again: an update moves only what its changes concern."""
    with knotwork.open(path, settings=settings()) as kb:
        kb.communities.update(rebuild=True)


def page_kinds(path: Path) -> dict[str, list[int]]:
    """Return the pages of each table and index of a file."""
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for name, page in connection.execute("SELECT name, pageno FROM dbstat ORDER BY pageno"):
        kinds[str(name)].append(int(str(page)))
    connection.close()
    return dict(kinds)


def damaged_bits(path: Path, *, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield (offset, mask) of bits, so that each kind of page has its turn."""
    chance = random.Random(seed)
    kinds = list(page_kinds(path).values())
    chance.shuffle(kinds)
    for number in range(count):
        page = chance.choice(kinds[number % len(kinds)])
        yield (page - 1) * PAGE_BYTES + chance.randrange(PAGE_BYTES), 1 << chance.randrange(8)
