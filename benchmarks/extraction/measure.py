"""Measure extraction by rules: bridges between gold passages, names against gold, speed.

    python benchmarks/extraction/measure.py --data data/bench [--json]

*Bridges.* A question is linked when one gold passage mentions what another one is about. A gold
passage counts as reached when it is about an entity that the question names, or about one that a
reached gold passage mentions: the condition for graph retrieval to find it at all. The baseline
takes capitalised runs for names, and the title, or else the first name, for the topic.
*Names.* Normal forms of Re-DocRED's gold mentions (numbers left out) found per document, and the
share of extracted names that are gold ones: a lower bound of precision, as gold is not exhaustive.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from knotwork._indexing.splitters import make_splitter
from knotwork._text.names import name_candidates, normal_form
from knotwork._text.sentences import split_sentences
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Document, Extraction

ABOUT = 0.3
"""The aboutness from which a passage counts as being about an entity."""

BRIDGED = ("musique_train100", "hotpot_train100", "twowiki_fg101", "popqa300")
SPEED = (*BRIDGED, "multihoprag_lite", "drcd300_zh", "netoperator_zh")
_CAPITALISED = re.compile(
    r"[A-Z][\w'’-]*(?:\s+(?:(?:of|the|and|de|von|for)\s+)*[A-Z0-9][\w'’-]*)*|\d{4}"
)
_GOLD = {"NATIONALITY": "PLACE"}  # the gold calls "German" a location
_TYPES = {"PER": "PERSON", "ORG": "ORGANIZATION", "LOC": "PLACE", "TIME": "DATE", "NUM": "NUMBER"}

Names = tuple[set[str], set[str]]
"""The normal forms that a passage mentions, and those that it is about."""


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def extract(
    extractor: RuleExtractor, document: Document, splitter: str = "whole"
) -> list[Extraction]:
    _, chunks = make_splitter(splitter).split(document)
    return extractor.extract(document, chunks)


def names_by_rules(extractor: RuleExtractor, document: Document) -> Names:
    mentions = [m for x in extract(extractor, document) for m in x.mentions]
    found = {m.normal_form for m in mentions if m.spans}
    return found, {m.normal_form for m in mentions if m.about >= ABOUT}


def names_by_regex(document: Document) -> Names:
    found = [normal_form(match[0]) for match in _CAPITALISED.finditer(document.text)]
    topic = [normal_form(document.title)] if document.title else found[:1]
    return set(found), set(topic)


def reached(question: str, passages: dict[str, Names]) -> set[str]:
    known = {form for form, _ in name_candidates(question)}
    done: set[str] = set()
    while True:
        new = {p for p, (_, about) in passages.items() if p not in done and about & known}
        if not new:
            return done
        done |= new
        known |= {form for p in new for form in passages[p][0]}


def is_linked(passages: dict[str, Names]) -> bool:
    """Return True if one gold passage mentions what another one is about."""
    return any(
        mentioned & about
        for one, (mentioned, _) in passages.items()
        for other, (_, about) in passages.items()
        if one != other
    )


def measure_bridges(data: Path, name: str, *, titles: bool) -> dict[str, float]:
    corpus = {row["pid"]: row for row in read_lines(data / "qa" / name / "corpus.jsonl")}
    extractor = RuleExtractor()
    shares: dict[str, list[float]] = {"rules": [], "regex": []}
    linked = dict.fromkeys(shares, 0)
    for question in read_lines(data / "qa" / name / "questions.jsonl"):
        documents = {
            pid: Document(pid, corpus[pid]["text"], corpus[pid]["title"] if titles else "")
            for pid in question["gold_pids"]
        }
        by_rules = {pid: names_by_rules(extractor, d) for pid, d in documents.items()}
        by_regex = {pid: names_by_regex(d) for pid, d in documents.items()}
        for key, passages in (("rules", by_rules), ("regex", by_regex)):
            shares[key].append(len(reached(question["question"], passages)) / len(passages))
            linked[key] += is_linked(passages)
    result: dict[str, float] = {}
    for key, values in shares.items():
        result[f"{key}_linked"] = linked[key] / len(values)
        result[f"{key}_passages"] = sum(values) / len(values)
        result[f"{key}_questions"] = sum(value == 1 for value in values) / len(values)
    return result


def measure_names(data: Path, *, documents: int) -> dict[str, float]:
    rows = json.loads((data / "extraction/redocred/dev_revised.json").read_text("utf-8"))
    extractor = RuleExtractor()
    gold_count = found_count = right = extracted = typed = typed_right = 0
    for row in rows[:documents]:
        text = " ".join(_detokenized(tokens) for tokens in row["sents"])
        gold = {
            normal_form(_detokenized(mention["name"].split())): mention["type"]
            for entity in row["vertexSet"]
            for mention in entity
            if mention["type"] != "NUM"
        }
        mentions = [
            mention
            for x in extract(extractor, Document(row["title"], text, row["title"]))
            for mention in x.mentions
            if mention.spans and mention.type != "NUMBER"
        ]
        forms = {m.normal_form for m in mentions}
        gold_count += len(gold)
        found_count += len(gold.keys() & forms)
        extracted += len(forms)
        right += len(forms & gold.keys())
        for m in mentions:
            kind = _TYPES.get(gold.get(m.normal_form, ""))
            if kind and m.type and m.type != "IDENTIFIER":
                typed += 1
                typed_right += kind == _GOLD.get(m.type, m.type)
    return {
        "recall": found_count / gold_count,
        "precision_at_least": right / extracted,
        "type_accuracy": typed_right / typed,
        "typed_share_of_found": typed / found_count,
    }


def _detokenized(tokens: Iterable[str]) -> str:
    text = " ".join(tokens)
    text = re.sub(r"\s+([.,;:!?)\]%]|'s\b|n't\b)", r"\1", text)
    return re.sub(r"([(\[$])\s+", r"\1", text)


def measure_chinese_names(data: Path) -> dict[str, float]:
    """Count which gold names, heads and tails of InstructKGC's Chinese samples are mentioned."""
    extractor = RuleExtractor()
    gold: dict[str, set[str]] = {}
    for task in ("NER", "RE", "SPO"):
        for row in read_lines(data / f"extraction/instructkgc_zh/{task}/train.json"):
            text = json.loads(row["instruction"])["input"]
            found = [value for values in json.loads(row["output"]).values() for value in values]
            names = [name for value in found for name in _names_in(value) if name in text]
            gold.setdefault(text, set()).update(map(normal_form, names))
    hits = total = 0
    for text, forms in gold.items():
        extractions = extract(extractor, Document("text", text))
        mentioned = {m.normal_form for x in extractions for m in x.mentions if m.spans}
        hits += len(forms & mentioned)
        total += len(forms)
    return {"recall": hits / total, "gold_names": total}


def _names_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [name for inner in value.values() for name in _names_in(inner)]
    return []


def measure_speed(data: Path, name: str) -> dict[str, float]:
    extractor = RuleExtractor()
    splitter = make_splitter("structure" if name == "netoperator_zh" else "whole")
    rows = islice(read_lines(data / "qa" / name / "corpus.jsonl"), 800)
    documents = [Document(row["pid"], row["text"], row["title"]) for row in rows]
    chunks = [splitter.split(document)[1] for document in documents]
    for document, own in zip(documents[:20], chunks[:20], strict=True):
        extractor.extract(document, own)
    began = time.process_time()
    for document, own in zip(documents, chunks, strict=True):
        extractor.extract(document, own)
    seconds = time.process_time() - began
    began = time.process_time()
    for document in documents:
        split_sentences(document.text)
    splitting = time.process_time() - began
    characters = sum(len(document.text) for document in documents)
    return {
        "chunks_per_s": sum(map(len, chunks)) / seconds,
        "characters_per_s": characters / seconds,
        "ratio_to_sentence_splitting": seconds / splitting,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data/bench"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data: Path = options.data
    report: dict[str, dict[str, float]] = {}
    for name in BRIDGED:
        report[f"bridges {name}"] = measure_bridges(data, name, titles=True)
        report[f"bridges {name}, titles hidden"] = measure_bridges(data, name, titles=False)
    report["names redocred (100)"] = measure_names(data, documents=100)
    report["names instructkgc_zh"] = measure_chinese_names(data)
    for name in SPEED:
        report[f"speed {name}"] = measure_speed(data, name)
    if options.json:
        print(json.dumps(report, indent=1))
        return
    for title, figures in report.items():
        print(f"{title:46}", "  ".join(f"{key} {value:.3g}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
