"""Prepare questions about documents for training: passages as retrieval finds them for a question.

    python training/reader/manuals.py --indexes DIR --output DIR

DIR of indexes has `NAME.knot`, what `knotwork index` makes of a manual, for files `NAME.jsonl` in
questions/, and of a domain, for folders blocks/NAME. Those without an index are skipped. Writes
what `prepare.py` writes, in the same form, so that `train.py` reads both.

The passages of a question are the best ten that `search` finds, and those that hold what is quoted
as its answer. A passage answers if a quote stands in it; one that only holds the words of the
answer may answer too, so that it is used for neither side. Questions of the manuals and domains in
`HELD` are kept aside.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prepare import sequence_of, squeeze, tokens_of, write_data

import knotwork
from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.answer_reader import MOST_QUESTION_TOKENS
from knotwork._extensions.local_models.encoder import TransformerEncoder, cut_passages
from knotwork._extensions.local_models.local_embedders import load_onnx
from knotwork._inference.embedder import PassageText
from knotwork._stores.urls import open_store
from knotwork.records import Chunk, Span

HELD = ("bind9", "debian_edu_zh", "docker", "gimp_zh", "httpd", "medicine")
FOUND = 10
NEGATIVES = 6
MOST_TOKENS = 500
LEAST_OVERLAP = 0.5
"""The part of a sentence, or of a quote, that both share where the sentence answers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--indexes", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    encoder = load_onnx(e5.MODEL)()
    passages: dict[str, dict[str, Any]] = {}
    questions: list[dict[str, Any]] = []
    here = Path(__file__).parent
    manuals = {path.stem: path for path in sorted(here.glob("questions/*.jsonl"))}
    domains = {path.parent.name: path for path in sorted(here.glob("blocks/*/questions.jsonl"))}
    for name, path in (domains | manuals).items():
        index = options.indexes / f"{name}.knot"
        if not index.exists():
            print(f"{name}: no index")
            continue
        own_pages = pages_of(index)
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        rows = [row for row in rows if row["page"] in own_pages]
        own = list(prepare_questions(name, rows, index, encoder, passages))
        answered = sum(bool(question["gold"]) for question in own)
        print(f"{name}: {len(rows)} questions, {len(own)} pairs, {answered} with an answer")
        questions += own
    write_data(options.output, list(passages.values()), questions, encoder)


def prepare_questions(
    manual: str,
    rows: Sequence[Mapping[str, Any]],
    index: Path,
    encoder: TransformerEncoder,
    passages: dict[str, dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield each question once for each passage that answers it, or once for the best if none does.

    Adds the passages to ``passages``, by their ids.
    """
    chunks = read_chunks(index)
    tight = {key: "".join(chunk.text.split()) for key, chunk in chunks.items()}
    with knotwork.open(str(index)) as base:
        for number, row in enumerate(rows):
            found = [hit.chunk for hit in base.search(row["question"], k=FOUND).hits]
            quotes = ["".join(quote.split()) for quote in row["quotes"]]
            spans = {
                key: find_quotes(row, chunks[key])
                for key, text in tight.items()
                if any(quote in text for quote in quotes if quote)
            }
            answering = [chunks[key] for key in spans]
            said = squeeze(row["answer"] or "") or None
            others = [
                chunk
                for chunk in found
                if chunk.id not in spans and (said is None or said not in squeeze(chunk.text))
            ]
            numbers = [_number(chunk, encoder, passages) for chunk in others]
            negatives = [number for number in numbers if number is not None][:NEGATIVES]
            (asked,) = encoder.tokenise([encoder.question_prompt + row["question"]])
            ids = [*asked.head, *asked.ids[:MOST_QUESTION_TOKENS], *asked.tail]
            for chunk in answering or found[:1]:
                place = _number(chunk, encoder, passages)
                if place is None:
                    continue
                yield {
                    "id": f"{manual}-{number}",
                    "source": manual,
                    "lang": row["lang"],
                    "kind": row["type"],
                    "held": manual in HELD,
                    "question": row["question"],
                    "answers": row["quotes"],
                    "ids": list(ids),
                    "passage": place,
                    "negatives": negatives if answering else negatives[1:],
                    **targets_of(row, chunk, spans.get(chunk.id, []), passages[chunk.id]),
                }


def pages_of(index: Path) -> set[str]:
    """Return the pages of an index of one folder: their paths in it."""
    with knotwork.open(str(index)) as base:
        return {entry.uri.partition("/")[2] for entry in base.documents()}


def read_chunks(index: Path) -> dict[str, Chunk]:
    """Return all chunks of an index, by their ids."""
    store = open_store(str(index))
    try:
        documents = store.documents
        found = documents.chunk_ids_of(documents.document_ids())
        ids = [i for chunks in found.values() for i in chunks]
        return documents.chunks(ids)
    finally:
        store.close()


def find_quotes(row: Mapping[str, Any], chunk: Chunk) -> list[Span]:
    """Return where the quotes of a question stand in the text of a chunk, whatever white space."""
    places = [place for place, letter in enumerate(chunk.text) if not letter.isspace()]
    tight = "".join(chunk.text[place] for place in places)
    found = []
    for quote in row["quotes"]:
        wanted = "".join(quote.split())
        start = tight.find(wanted)
        if wanted and start >= 0:
            found.append(Span(places[start], places[start + len(wanted) - 1] + 1))
    return found


def targets_of(
    row: Mapping[str, Any], chunk: Chunk, quotes: Sequence[Span], passage: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the numbers of the sentences that answer, and the answer as positions of tokens."""
    start = chunk.span.start
    gold = [
        number
        for number, (sentence, (first, end)) in enumerate(
            zip(chunk.sentences, passage["sentences"], strict=True)
        )
        if first < end
        and any(_overlap(Span(sentence.start - start, sentence.end - start), q) for q in quotes)
    ]
    spans = []
    for quote in quotes:
        at = chunk.text.find(row["answer"], quote.start, quote.end) if row["answer"] else -1
        if at < 0:
            continue
        if gold:
            place = tokens_of(passage, at, len(row["answer"]), offset=passage["head"])
            spans.append(list(place))
    return {"gold": gold, "spans": spans}


def _overlap(sentence: Span, quote: Span) -> bool:
    shared = min(sentence.end, quote.end) - max(sentence.start, quote.start)
    shorter = min(sentence.end - sentence.start, quote.end - quote.start)
    return shared >= LEAST_OVERLAP * shorter > 0


def _number(
    chunk: Chunk, encoder: TransformerEncoder, passages: dict[str, dict[str, Any]]
) -> int | None:
    """Return the number of the passage of a chunk, which is added if new; None if too long."""
    if chunk.id not in passages:
        passage = PassageText.of(chunk)
        (cut,) = cut_passages(encoder, encoder.passage_prompt, [passage])
        tokens, ranges = cut.tokens, cut.sentences
        if len(tokens) > MOST_TOKENS:
            return None
        head = len(tokens.head)
        passages[chunk.id] = {
            "number": len(passages),
            "title": passage.context,
            "text": passage.text,
            "lead": cut.text_start,
            "head": head,
            "ids": sequence_of(tokens),
            "first": head + min((first for first, _ in ranges), default=0),
            "starts": list(tokens.starts),
            "sentences": [[head + first, head + end] for first, end in ranges],
        }
    return int(passages[chunk.id]["number"])


if __name__ == "__main__":
    main()
