"""Prepare the training data of the reader: tokens, targets, hard negatives and frozen states.

    python training/reader/prepare.py --data data/train --output DIR [--share 0.2]

Writes to DIR:

- `passages.json`: each distinct passage, with its range of rows in `states.f16`;
- `questions.json`: each question with its range of rows, the passage it was asked about, its
  targets there as tokens, and passages that resemble it and hold no answer;
- `states.f16`: the states of the lower layers of the embedder, one row for each token. These layers
  are not trained, so that one pass over the data serves all epochs.

Negatives are what full text finds over all passages of the data, with the questions as they were
asked. A tenth of the articles, by the hash of their titles, is kept aside (`held`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from knotwork._extensions.local_models import e5
from knotwork._extensions.local_models.encoder import Tokens, TransformerEncoder, cut_passages
from knotwork._extensions.local_models.local_embedders import load_onnx
from knotwork._inference.embedder import PassageText
from knotwork._stores.urls import open_store
from knotwork._text.sentences import split_sentences

SHARES = {"qamr": 0.25, "nqg_sentences": 0.25, "fairytaleqa": 0.5, "molweni_test": 0.5}
"""How much is taken of the sources that are easy, or far from what people keep as documents."""
MOST_TOKENS = 400
HELD_SHARE = 0.1
NEGATIVES = 3
SEED = 12
_WHITE = re.compile(r"\s+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="how much of the rows is taken")
    options = parser.parse_args()
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_onnx(e5.MODEL)()
    passages: dict[tuple[str, str], dict[str, Any]] = {}
    questions = [
        question
        for row in read_rows(options.data, share=options.share)
        if (question := prepare_row(row, encoder, passages))
    ]
    report(questions, passages)
    entries = list(passages.values())
    add_negatives(questions, entries, folder / "passages.knot")
    write_data(folder, entries, questions, encoder)


def read_rows(data: Path, *, share: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of all sources, each with its source's name, a part of them where asked."""
    chance = random.Random(SEED)
    for path in sorted(data.glob("*.jsonl.gz")):
        source = path.name.removesuffix(".jsonl.gz")
        wanted = share * SHARES.get(source, 1.0)
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if chance.random() < wanted:
                    yield {**json.loads(line), "source": source}


def prepare_row(
    row: dict[str, Any],
    encoder: TransformerEncoder,
    passages: dict[tuple[str, str], dict[str, Any]],
) -> dict[str, Any] | None:
    """Return a question with its targets, and remember its passage; None where it is unusable."""
    title, text = row["title"].strip(), row["context"]
    if not row["question"].strip() or not text.strip():
        return None
    key = (title, text)
    if key not in passages:
        (cut,) = cut_passages(encoder, encoder.passage_prompt, [PassageText(text, title)])
        tokens, lead = cut.tokens, cut.text_start
        if len(tokens) > MOST_TOKENS:
            return None
        passages[key] = {
            "number": len(passages),
            "title": title,
            "text": text,
            "lead": lead,
            "ids": sequence_of(tokens),
            "first": len(tokens.head) + bisect_left(tokens.starts, lead),
            "starts": list(tokens.starts),
            "sentences": sentence_ranges(tokens, text, lead),
        }
    passage = passages[key]
    (asked,) = encoder.tokenise([encoder.question_prompt + row["question"]])
    return {
        "id": row["id"],
        "source": row["source"],
        "lang": row["lang"],
        "kind": row["kind"],
        "held": is_held(title or text[:100]),
        "question": row["question"],
        "answers": [answer["text"] for answer in row["answers"]],
        "ids": sequence_of(asked),
        "passage": passage["number"],
        **targets_of(row, passage),
    }


def sequence_of(tokens: Tokens) -> list[int]:
    return [*tokens.head, *tokens.ids, *tokens.tail]


def sentence_ranges(tokens: Tokens, text: str, lead: int) -> list[list[int]]:
    """Return the half-open ranges of positions of the sentences of a passage."""
    offset = len(tokens.head)
    ranges = []
    for span in split_sentences(text):
        first = max(bisect_right(tokens.starts, lead + span.start) - 1, 0)
        last = bisect_left(tokens.starts, lead + span.end)
        if first < last:
            ranges.append([offset + first, offset + last])
    return ranges


def targets_of(row: dict[str, Any], passage: dict[str, Any]) -> dict[str, Any]:
    """Return spans as (first, last) positions, and the numbers of the sentences that they touch."""
    offset = passage["first"] - bisect_left(passage["starts"], passage["lead"])
    spans = [
        [first, last]
        for answer in row["answers"]
        for first, last in (
            tokens_of(passage, answer["start"], len(answer["text"]), offset=offset),
        )
        if passage["first"] <= first <= last
    ]
    sentences = [
        number
        for number, (first, end) in enumerate(passage["sentences"])
        if any(start < end and first <= last for start, last in spans)
    ]
    exact = row["kind"] == "span"
    return {"spans": spans if exact else [], "gold": sentences}


def tokens_of(
    passage: Mapping[str, Any], start: int, length: int, *, offset: int
) -> tuple[int, int]:
    """Return the positions of the first and the last token of some characters of a passage.

    ``offset`` is the position of the first token that has characters.
    """
    begin = passage["lead"] + start
    first = max(bisect_right(passage["starts"], begin) - 1, 0)
    last = max(bisect_left(passage["starts"], begin + length) - 1, 0)
    return first + offset, last + offset


def is_held(title: str) -> bool:
    """Return True for a tenth of all articles, the same whatever else is in the data."""
    return crc32(title.encode()) / 2**32 < HELD_SHARE


def add_negatives(
    questions: list[dict[str, Any]], passages: list[dict[str, Any]], path: Path
) -> None:
    """Add to each question the passages without an answer that full text finds for it."""
    path.unlink(missing_ok=True)
    store = open_store(str(path), create=True)
    try:
        index = store.texts("passages")
        with store.transaction():
            index.add((f"{p['number']:016x}", f"{p['title']}. {p['text']}") for p in passages)
        for count, question in enumerate(questions):
            found = index.search(question["question"], k=NEGATIVES + 7)
            numbers = (int(item.id, 16) for item in found)
            answers = [squeeze(answer) for answer in question["answers"]]
            question["negatives"] = [
                number
                for number in numbers
                if number != question["passage"]
                and not any(answer in squeeze(passages[number]["text"]) for answer in answers)
                and is_held(passages[number]["title"] or passages[number]["text"][:100])
                == question["held"]
            ][:NEGATIVES]
            if count % 5_000 == 0:
                print(f"{count:,} of {len(questions):,} questions asked", flush=True)
    finally:
        store.close()


def squeeze(text: str) -> str:
    return _WHITE.sub(" ", text).casefold().strip(" .,;:!?\"'。，")


def write_data(
    folder: Path,
    passages: Sequence[dict[str, Any]],
    questions: Sequence[dict[str, Any]],
    encoder: TransformerEncoder,
) -> None:
    """Write the states of passages and questions, and both with their rows among these."""
    entries = (*passages, *questions)
    with (folder / "states.f16").open("wb") as states:
        row = 0
        for number, entry in enumerate(entries):
            row = write_states(entry, encoder, states, row)
            if number % 2_000 == 0:
                print(f"{number:,} of {len(entries):,} texts read", flush=True)
    for name, content in (("passages", passages), ("questions", questions)):
        text = json.dumps(content, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text, "utf-8")


def write_states(
    entry: dict[str, Any], encoder: TransformerEncoder, states: BinaryIO, row: int
) -> int:
    """Append the states of a text, note their rows in its entry, and return the next row."""
    found = encoder.encode_states(entry.pop("ids")).astype(np.float16)
    states.write(found.tobytes())
    entry["rows"] = [row, row + len(found)]
    return row + len(found)


def report(
    questions: list[dict[str, Any]], passages: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """Print how many questions each source gives."""
    print(f"{len(questions):,} questions about {len(passages):,} passages")
    for source in sorted({question["source"] for question in questions}):
        own = [question for question in questions if question["source"] == source]
        answerable = sum(bool(question["gold"]) for question in own)
        print(f"  {source:20} {len(own):6,}, of which {answerable:6,} with an answer", flush=True)


if __name__ == "__main__":
    main()
