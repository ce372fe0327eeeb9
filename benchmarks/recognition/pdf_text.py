"""Measure the text that is read of PDF files against that of Poppler's pdftotext.

    python benchmarks/recognition/pdf_text.py FOLDER

For each PDF file of a folder: the share of words that are two words run together, the share that
are parts of one, the ligatures, leaders of dots and headings in the text, and the seconds of the
processor. A word is glued if pdftotext has it nowhere, but has its two parts, of two letters at
least, next to each other; a letter beside a letter is a formula. Split words are the reverse.
pdftotext is installed apart, and used here alone.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from knotwork._indexing.loaders.loader_registry import load_file
from knotwork.records import BlockKind

WORD = re.compile(r"[^\W\d_]+")
HYPHENATED = re.compile(r"([a-z])[-\u00ad\u2010]\n([a-z])")
LIGATURE = re.compile("[\ufb00-\ufb06]")
LEADERS = re.compile(r"(?:\.\s?){6,}")
LEAST_LETTERS = 2


class Figures(NamedTuple):
    """What is measured of one file."""

    words: int
    glued: Counter[str]
    split: Counter[str]
    ligatures: int
    leaders: int
    headings: int
    seconds: float


def main() -> None:
    """Print a row of Markdown for each file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", action="store_true", help="print glued and split words too")
    options = parser.parse_args()
    print("| file | words | glued | split | ligatures | leaders | headings | CPU s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    total = Counter[str]()
    for path in sorted(options.folder.glob("*.pdf")):
        found = measure(path)
        glued, split = found.glued.total(), found.split.total()
        total.update(words=found.words, glued=glued, split=split)
        print(
            f"| {path.stem} | {found.words:,} | {share(glued, found.words)} "
            f"| {share(split, found.words)} | {found.ligatures} | {found.leaders} "
            f"| {found.headings} | {found.seconds:.1f} |"
        )
        if options.examples:
            print(found.glued.most_common(8), found.split.most_common(8))
    words = total["words"]
    shares = f"{share(total['glued'], words)} | {share(total['split'], words)}"
    print(f"| all | {words:,} | {shares} | | | | |")


def measure(path: Path) -> Figures:
    """Compare the text of a file with that of pdftotext."""
    printed = subprocess.run(
        ["pdftotext", "-enc", "UTF-8", str(path), "-"], capture_output=True, text=True, check=True
    ).stdout
    theirs = words_of(HYPHENATED.sub(r"\1\2", unicodedata.normalize("NFKC", printed)))
    started_s = time.process_time()
    document = load_file(path, uri=path.name)
    seconds = time.process_time() - started_s
    ours = words_of(document.text)
    return Figures(
        len(ours),
        joined(ours, theirs),
        joined(theirs, ours),
        len(LIGATURE.findall(document.text)),
        len(LEADERS.findall(document.text)),
        sum(block.kind is BlockKind.SECTION for block in document.blocks),
        seconds,
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.casefold() for word in WORD.findall(text)]


def joined(words: list[str], others: list[str]) -> Counter[str]:
    """Return the ASCII words that others have as two words only, with their counts."""
    known, pairs = set(others), set(pairwise(others))
    return Counter(
        {
            word: count
            for word, count in Counter(words).items()
            if word.isascii()
            and word not in known
            and any(
                (word[:at], word[at:]) in pairs
                for at in range(LEAST_LETTERS, len(word) - LEAST_LETTERS + 1)
            )
        }
    )


def share(count: int, words: int) -> str:
    """Return a share of words as a percentage."""
    return f"{100 * count / max(words, 1):.3f} %"


if __name__ == "__main__":
    main()
