"""Read replies that GPT once gave to another framework, and hold them against their book.

    python benchmarks/extraction/recorded.py --data data/bench [--json]

The replies are those of gpt-4o that nano-graphrag recorded for its tests: extraction and gleaning
on A Christmas Carol, in tuples; and reports, which hold no records. What is measured is the reader
and the assembly, not a model: how many records come in, how many of them the text supports, and
what is dropped for which reason. The recording does not say which passage a reply is about (its
chunks had 1,200 tokens), so that each reply is held against the window of that size in which most
of its names stand: the share is an upper bound. How much that says is seen from the window half a
book away. The baseline reads as nano-graphrag does: a record
lies between the outermost brackets of what stands between two ``##``, with all of its fields.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tuples import TupleReader

from knotwork._extensions.model_indexing.reply_formats import Draft
from knotwork._extensions.model_indexing.reply_grounding import ChunkText, ReplyContext, assemble
from knotwork._text.sentences import split_sentences
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Chunk, Document, Span

WINDOW = 5_000
"""Characters of a window: 189,000 of the book made 42 chunks of 1,200 tokens, 100 shared."""

STEP = 500

_BRACKETS = re.compile(r"\((.*)\)")


@dataclass
class Measured:
    """Counts of one run."""

    replies: int = 0
    others: int = 0
    records_of_others: int = 0
    entities: int = 0
    relations: int = 0
    repeated: int = 0
    by_brackets: int = 0
    kept: int = 0
    in_book: int = 0
    elsewhere: int = 0
    unused_replies: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return self.entities + self.relations


def windows(document: Document) -> Iterator[Chunk]:
    """Yield the windows of a book, which overlap."""
    text = document.text
    for ordinal, start in enumerate(range(0, max(1, len(text) - WINDOW + STEP), STEP)):
        yield passage(document, Span(start, min(start + WINDOW, len(text))), ordinal)


def passage(document: Document, span: Span, ordinal: int = 0) -> Chunk:
    text = document.text[span.start : span.end]
    sentences = tuple(split_sentences(text, start=span.start))
    return Chunk(
        f"{ordinal:016x}", document.id, "0" * 16, ordinal, span, text, sentences, document.title
    )


def names_of(draft: Draft) -> set[str]:
    ends = {end for relation in draft.relations for end in (relation.source, relation.target)}
    return {entity.name for entity in draft.entities} | ends


def nearest(draft: Draft, texts: Sequence[ChunkText]) -> Chunk:
    """Return the window in which most of the names stand, the first of equal ones."""
    names = names_of(draft)
    return max(texts, key=lambda text: sum(bool(text.find(name)) for name in names)).chunk


def read_by_brackets(reply: str) -> int:
    """Return how many records the baseline reads."""
    count = 0
    for piece in re.split(r"##|<\|COMPLETE\|>", reply):
        match = _BRACKETS.search(piece)
        fields = [part.strip() for part in match[1].split("<|>")] if match else [""]
        count += (fields[0] == '"entity"' and len(fields) >= 4) or (
            fields[0] == '"relationship"' and len(fields) >= 5
        )
    return count


def measure(replies: Sequence[str], book: str) -> Measured:
    reader, rules, found = TupleReader(), RuleExtractor(), Measured()
    document = Document("carol.txt", book, title="A Christmas Carol")
    texts = [ChunkText(chunk) for chunk in windows(document)]
    whole = passage(document, Span(0, len(book)))
    (whole_base,) = rules.extract(document, [whole])
    around = ReplyContext(document.text)
    for reply in replies:
        if "<|>" not in reply:
            found.others += 1
            found.records_of_others += reader.read(reply).records
            continue
        draft = reader.read(reply)
        found.replies += 1
        found.entities += len(draft.entities)
        found.relations += len(draft.relations)
        found.repeated += draft.repeated
        found.by_brackets += read_by_brackets(reply)
        found.unread.update(complaint.reason for complaint in draft.complaints)
        chunk = nearest(draft, texts)
        (base,) = rules.extract(document, [chunk])
        made = assemble(draft, chunk, base, around)
        found.kept += made.kept
        found.unused_replies += not made.kept
        away = texts[(chunk.ordinal + len(texts) // 2) % len(texts)].chunk
        (away_base,) = rules.extract(document, [away])
        found.elsewhere += assemble(draft, away, away_base, around).kept
        found.in_book += assemble(draft, whole, whole_base, around).kept
        for complaint in (*draft.complaints, *made.complaints):
            found.examples.setdefault(complaint.reason, []).append(complaint.line)
        found.dropped.update(complaint.reason for complaint in made.complaints)
    return found


def print_table(found: Measured) -> None:
    print("| | replies of gpt-4o |")
    print("|---|--:|")
    total = found.records
    rows = [
        ("replies with records", found.replies),
        ("entities read", found.entities),
        ("relations read", found.relations),
        ("read twice in one reply", found.repeated),
        ("records that the baseline reads", found.by_brackets),
        ("pieces that are no record", sum(found.unread.values())),
        ("records read out of the reports and answers", found.records_of_others),
        ("supported by a window of the book", f"{found.kept:,} ({found.kept / total:.1%})"),
        ("supported by the book", f"{found.in_book:,} ({found.in_book / total:.1%})"),
        ("supported by another window", f"{found.elsewhere:,} ({found.elsewhere / total:.1%})"),
    ]
    rows += [(f"dropped: {reason}", count) for reason, count in found.dropped.most_common()]
    rows += [(f"not read: {reason}", count) for reason, count in found.unread.most_common()]
    rows.append(("replies of which nothing is used", found.unused_replies))
    for name, value in rows:
        print(f"| {name} | {value if isinstance(value, str) else f'{value:,}'} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with recorded_llm/")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--limit", type=int, help="only the first replies")
    parser.add_argument("--examples", type=int, default=0, help="show so many of each reason")
    arguments = parser.parse_args()
    folder = arguments.data / "recorded_llm" / "nano_graphrag"
    recorded = json.loads((folder / "mock_cache.json").read_text("utf-8"))
    book = (folder / "mock_data.txt").read_text("utf-8-sig")
    replies = [entry["return"] for entry in recorded.values()]
    found = measure(replies[: arguments.limit], book)
    if arguments.json:
        print(json.dumps({**vars(found), "records": found.records}, ensure_ascii=False))
        return
    print_table(found)
    for reason, lines in found.examples.items():
        for line in lines[: arguments.examples]:
            print(f"{reason}: {line[:160]!r}")


if __name__ == "__main__":
    main()
