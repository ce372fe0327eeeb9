"""Measure entity resolution: precision and recall of its rules, time, and tokens of a judge.

    python benchmarks/resolution/measure.py --data data/bench [--json] [--skip-scale]

*Re-DocRED.* Its documents give the names of each entity, so two names of one entity in a document
are a pair that is one, and names of two entities a pair that is not. All documents are in one
index, read by the rules. A sure merge is right when every document that has both names says so. The
gold parts many a surname from the full name ("Swift" from "Taylor Swift"), and knows no titles: so
the merges that it calls wrong or does not know were read one by one; `WRONG` holds the wrong ones.
*Chinese company reports.* No gold: all merges were read, `WRONG_HAN` holds the wrong ones. A merge
that was not there when they were read counts as unread, and is printed.
*Scale.* Made-up names with known variants, in an index on disk; the whole run, reading included, in
processor seconds.
*Tokens.* What a judge under the ceilings of the tiers is sent and says, as `count_tokens` counts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import knotwork
from knotwork._extensions.model_indexing.judge import FULL_SHARE, LEAN_SHARE, Judge
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.resolution.pairs import PairSurvey, survey_pairs
from knotwork._indexing.resolution.resolver import resolve_entities
from knotwork._indexing.splitters import make_splitter
from knotwork._inference.chat import ChatRequest
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._text.names import normal_form
from knotwork._text.token_counts import count_tokens
from knotwork.records import Document, Mention, Verdict, entity_id

Pair = tuple[str, str]

WRONG = {
    ("Hidalgo", "Miguel Hidalgo"),
    ("BBC", "Children's BBC"),
    ("James III", "King James III"),
}
WRONG_HAN = {
    ("上海航空", "上海航空有限公司"),
    ("中国联合网络通信", "中国联合网络通信有限公司"),
    ("管理制度文件", "管理文件"),
    ("信息通信产业", "数字产业化部分"),
}
READ = Path(__file__).with_name("read.txt")
"""The sure merges that were read, one a line, names in order and parted by |."""

CONSONANTS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "ch", "st", "tr")
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in "aeiou"]


def pair_of(one: str, other: str) -> Pair:
    first, second = sorted((entity_id(normal_form(one)), entity_id(normal_form(other))))
    return first, second


def sure_pairs(survey: PairSurvey) -> dict[Pair, str]:
    """Return the merges that rules are sure of, with their reasons."""
    return {p: r.reason for p, r in survey.rulings.items() if r.verdict is Verdict.SAME}


def names_of(survey: PairSurvey, pair: Pair) -> Pair:
    one, other = sorted(survey.profiles[entity].entity.name for entity in pair)
    return one, other


def redocred_documents(documents: list[dict[str, Any]]) -> Iterator[Document]:
    for number, document in enumerate(documents):
        text = " ".join(" ".join(words) for words in document["sents"])
        for mark in ",.)":
            text = text.replace(f" {mark}", mark)
        text = text.replace("( ", "(").replace(" '", "'")
        yield Document(f"redocred:{number}", text, document["title"])


def redocred_gold(documents: list[dict[str, Any]]) -> dict[str, dict[str, set[int]]]:
    """Return, for each document, the clusters that bear each name (an entity id)."""
    gold: dict[str, dict[str, set[int]]] = {}
    for given, document in zip(redocred_documents(documents), documents, strict=True):
        clusters: defaultdict[str, set[int]] = defaultdict(set)
        for number, mentions in enumerate(document["vertexSet"]):
            for mention in mentions:
                if mention["type"] not in {"TIME", "NUM"}:
                    clusters[entity_id(normal_form(mention["name"]))].add(number)
        gold[given.id] = clusters
    return gold


def verdict_of_gold(gold: dict[str, dict[str, set[int]]], pair: Pair) -> str:
    """Return what the documents that have both names say: same, different or unknown."""
    said = {
        bool(names[pair[0]] & names[pair[1]])
        for names in gold.values()
        if pair[0] in names and pair[1] in names
    }
    return "unknown" if not said else "same" if said == {True} else "different"


def measure_redocred(data: Path) -> dict[str, Any]:
    documents = json.loads((data / "extraction/redocred/dev_revised.json").read_text("utf-8"))
    base = knotwork.open("memory:", embedding_model="none")
    base.index_documents(redocred_documents(documents))
    survey = survey_pairs(base.store)
    gold = redocred_gold(documents)
    sure = sure_pairs(survey)
    said = {pair: verdict_of_gold(gold, pair) for pair in survey.rulings}
    true_pairs = gold_pairs(gold)
    findable = [pair for pair in true_pairs if survey.profiles.keys() >= set(pair)]
    margin = [pair for pair, ruling in survey.rulings.items() if ruling.verdict is None]
    counts = Counter(said[pair] for pair in sure)
    return {
        "sure": len(sure),
        "by_gold": dict(counts),
        **judged_by_reading(survey, sure, WRONG),
        "precision_by_gold": counts["same"] / (counts["same"] + counts["different"]),
        "gold_pairs": len(true_pairs),
        "gold_pairs_extracted": len(findable),
        "recall_of_rules": sum(pair in sure for pair in findable) / len(findable),
        "recall_with_margin": sum(pair in survey.rulings for pair in findable) / len(findable),
        "margin": len(margin),
        "margin_by_gold": dict(Counter(said[pair] for pair in margin)),
    }


def gold_pairs(gold: dict[str, dict[str, set[int]]]) -> set[Pair]:
    """Return the pairs of names that are one in some document, and stand for nothing else there."""
    pairs: set[Pair] = set()
    for names in gold.values():
        of_cluster: defaultdict[int, list[str]] = defaultdict(list)
        for name, clusters in names.items():
            if len(clusters) == 1:
                of_cluster[next(iter(clusters))].append(name)
        for members in of_cluster.values():
            ordered = sorted(members)
            pairs |= {(a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :]}
    return pairs


def judged_by_reading(
    survey: PairSurvey, sure: Iterable[Pair], wrong: set[Pair]
) -> dict[str, float | int]:
    read = {
        tuple(line.split(" | ")) for line in READ.read_text("utf-8").splitlines() if " | " in line
    }
    named = [names_of(survey, pair) for pair in sure]
    unread = [names for names in named if names not in read]
    for names in unread:
        print(f"unread: {names[0]} | {names[1]}", file=sys.stderr)
    errors = sum(names in wrong for names in named)
    return {"unread": len(unread), "precision_by_reading": 1 - errors / len(named)}


def measure_chinese(data: Path) -> dict[str, Any]:
    lines = (data / "qa/netoperator_zh/corpus.jsonl").read_text("utf-8").splitlines()
    base = knotwork.open("memory:", embedding_model="none")
    base.index_documents(Document(d["pid"], d["text"], d["title"]) for d in map(json.loads, lines))
    survey = survey_pairs(base.store)
    sure = sure_pairs(survey)
    margin = sum(ruling.verdict is None for ruling in survey.rulings.values())
    reasons = Counter(reason.split(":")[0] for reason in sure.values())
    return {
        "entities": len(survey.profiles),
        "sure": len(sure),
        **judged_by_reading(survey, sure, WRONG_HAN),
        "margin": margin,
        "reasons": dict(reasons.most_common()),
    }


def make_names(count: int, chance: random.Random) -> tuple[list[str], dict[str, list[Pair]]]:
    """Return made-up names, and the pairs that are one: sure by rule, and misspelt."""
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(count)]
    words = [word.capitalize() for word in words[: int(40 * count**0.5)]]
    names: set[str] = set()
    while len(names) < 0.8 * count:
        names.add(" ".join(chance.choices(words, k=chance.randint(2, 3))))
    plain = sorted(names)
    chance.shuffle(plain)
    pairs: dict[str, list[Pair]] = {"sure": [], "misspelt": []}
    for number, name in enumerate(plain[: count // 5]):
        if number % 2:
            other = f"{name} Inc."
        else:
            place = chance.randrange(1, len(name))
            other = name[:place] + chance.choice("aeiou") + name[place + 1 :]
        if normal_form(other) not in names and normal_form(other) != normal_form(name):
            pairs["sure" if number % 2 else "misspelt"].append(pair_of(name, other))
            plain.append(other)
    return plain, pairs


def fill_store(store: Store, names: list[str], chance: random.Random) -> None:
    """Put names into documents of one chunk and four names each."""
    chance.shuffle(names)
    splitter = make_splitter("whole")
    with store.transaction():
        for start in range(0, len(names), 4):
            own = names[start : start + 4]
            document = Document(f"{start}.txt", f"{', '.join(own)} met.")
            sections, chunks = splitter.split(document)
            store.documents.put(document, sections, chunks)
            store.graph.upsert(
                mentions=[Mention(chunks[0].id, normal_form(n), n, about=0.3) for n in own]
            )


def measure_scale(count: int) -> dict[str, Any]:
    chance = random.Random(count)
    names, pairs = make_names(count, chance)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/scale.knot", create=True)
        fill_store(store, names, chance)
        started = time.process_time()
        resolve = resolve_entities(store)
        whole = time.process_time() - started
        changed = [e.id for e in store.graph.lookup([normal_form(n) for n in names[:40]]).values()]
        started = time.process_time()
        resolve_entities(store, changed=changed)
        update = time.process_time() - started
        survey = survey_pairs(store)
        decided, truth = sure_pairs(survey).keys(), set(pairs["sure"])
        result = {
            "entities": store.graph.entity_count(),
            "processor_seconds": round(whole, 1),
            "processor_seconds_update_of_40": round(update, 1),
            "candidates": resolve.pairs,
            "sure_recall": sum(p in decided for p in truth) / len(truth),
            "sure_precision": sum(p in truth for p in decided) / len(decided),
            "misspelt_in_margin": sum(p in survey.rulings for p in pairs["misspelt"])
            / len(pairs["misspelt"]),
        }
        store.close()
    return result


def measure_tokens(data: Path) -> dict[str, Any]:
    """Judge the corpus of two repositories' documents under the ceilings of both tiers."""
    files = sorted((data / "docs_dbgpt").glob("*.md"))
    corpus = sum(count_tokens(file.read_text("utf-8")) for file in files)
    brain = RuleBrain()
    result: dict[str, Any] = {"corpus_tokens": corpus}
    for tier, share in (("full", FULL_SHARE), ("lean", LEAN_SHARE)):
        base = knotwork.open("memory:", embedding_model="none")
        base.index(files)
        spent = 0

        def reply(request: ChatRequest) -> str:
            nonlocal spent
            said = brain(request.messages)
            sent = sum(count_tokens(message.content) for message in request.messages)
            spent += sent + count_tokens(said)
            return said

        judge = Judge(ScriptedChatModel(reply), ceiling_tokens=int(share * corpus), concurrency=1)
        changes = resolve_entities(base.store, judge=judge)
        result[tier] = {
            "judged": changes.judged,
            "left": changes.left,
            "calls": changes.calls,
            "tokens_a_corpus_token": round(spent / corpus, 4),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--skip-scale", action="store_true")
    options = parser.parse_args()
    results: dict[str, Any] = {
        "redocred": measure_redocred(options.data),
        "chinese": measure_chinese(options.data),
        "tokens": measure_tokens(options.data),
    }
    if not options.skip_scale:
        results["scale"] = [measure_scale(count) for count in (10_000, 30_000, 100_000)]
    print(json.dumps(results, indent=None if options.json else 2, ensure_ascii=False))


if __name__ == "__main__":
    main()
