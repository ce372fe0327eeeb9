"""Measure text recognition on pages that are drawn: `python benchmarks/recognition/measure.py`.

    python benchmarks/recognition/measure.py --english FOLDER --chinese FOLDER --font FONT

The text of 20 pages in each language comes from the files of two folders. Each page is drawn at 150
and at 300 dots per inch, turned by one degree, with noise, and saved as a JPEG. The error is
the edit distance of the recognised to the drawn text, as a share of the drawn characters, with and
without white space: where a line ends is no error. FONT is one with Chinese characters, such as
NotoSansCJK-Regular.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from knotwork._indexing.loaders.loader_registry import load_file

A4_INCHES = (8.27, 11.69)
MARGIN_INCHES = 1.0
POINTS = 11
LEADING = 1.5
LINES = 34
ENGLISH_COLUMNS, CHINESE_COLUMNS = 78, 36
NOISE = 12.0
TURN = 1.0
SEED = 17

Font = ImageFont.FreeTypeFont


def sentences_of(folder: Path) -> Iterator[str]:
    """Yield the prose of the text files of a folder, paragraph by paragraph."""
    for file in sorted(folder.rglob("*")):
        if file.suffix not in {".md", ".txt", ".pdf", ".docx", ".html", ".rst"}:
            continue
        document = load_file(file.read_bytes(), uri=file.name)
        for block in document.text.split("\n\n"):
            text = " ".join(block.split())
            if len(text) > 60 and not re.search(r"[|#`*<>{}\[\]_=]", text):
                yield text


def wrapped(text: str, columns: int) -> list[str]:
    """Return a paragraph in lines: at spaces, or after any Chinese character."""
    if not re.search(r"[\u4e00-\u9fff]", text):
        lines, line = [], ""
        for word in text.split():
            if line and len(line) + len(word) >= columns:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        return [*lines, line]
    return [text[start : start + columns].strip() for start in range(0, len(text), columns)]


def pages_of(folder: Path, columns: int, count: int) -> list[list[str]]:
    """Return pages of lines; paragraphs are separated by an empty one."""
    lines: list[str] = []
    for text in sentences_of(folder):
        lines += [*wrapped(text, columns), ""]
        if len(lines) >= LINES * count:
            break
    return [lines[start : start + LINES] for start in range(0, LINES * count, LINES)]


def drawn(lines: list[str], font_path: str, dpi: int, source: random.Random) -> bytes:
    """Return a page as a JPEG, turned and with noise."""
    font = ImageFont.truetype(font_path, round(POINTS * dpi / 72))
    page = Image.new("L", tuple(round(side * dpi) for side in A4_INCHES), 255)
    pen = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        y = MARGIN_INCHES * dpi + number * LEADING * POINTS * dpi / 72
        pen.text((MARGIN_INCHES * dpi, y), line, font=font, fill=20)
    page = page.rotate(TURN, fillcolor=255, resample=Image.Resampling.BICUBIC)
    noise = np.random.default_rng(source.randrange(1 << 32)).normal(0, NOISE, page.size[::-1])
    grey = np.clip(np.asarray(page, float) + noise, 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(grey).save(out, "JPEG", quality=75, dpi=(dpi, dpi))
    return out.getvalue()


def distance(one: str, other: str) -> int:
    """Return the edit distance of two texts, row by row with numpy (Wagner and Fischer, 1974)."""
    letters = np.array([ord(letter) for letter in other])
    places = np.arange(len(other) + 1)
    row = places.copy()
    for number, letter in enumerate(one, start=1):
        changed = np.minimum(row[1:] + 1, row[:-1] + (letters != ord(letter)))
        new = np.concatenate([[number], changed])
        # An insertion costs one for each place: the running minimum of value minus place.
        row = np.minimum.accumulate(new - places) + places
    return int(row[-1])


def main() -> None:
    """Print a row of the table for each language and resolution."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--english", type=Path, required=True)
    parser.add_argument("--chinese", type=Path, required=True)
    parser.add_argument("--font", required=True)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--dpi", type=int, action="append")
    options = parser.parse_args()
    print("| language | dpi | pages | error | without spaces | worst page | s a page | median |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    languages = {
        "en": (options.english, ENGLISH_COLUMNS),
        "zh": (options.chinese, CHINESE_COLUMNS),
    }
    for language, (folder, columns) in languages.items():
        pages = pages_of(folder, columns, options.pages)
        for dpi in options.dpi or (150, 300):
            source = random.Random(SEED)
            wrong = bare_wrong = total = bare_total = 0
            worst, seconds = 0.0, []
            for lines in pages:
                data = drawn(lines, options.font, dpi, source)
                start = time.perf_counter()
                read = load_file(data, uri="page.jpg").text
                seconds.append(time.perf_counter() - start)
                wide = "" if language == "zh" else " "
                expected = wide.join(" ".join(lines).split()) if wide else "".join(lines)
                found = wide.join(read.split()) if wide else read.replace("\n", "")
                errors = distance(expected, found)
                bare = "".join(expected.split()), "".join(found.split())
                bare_wrong += distance(*bare)
                bare_total += len(bare[0])
                wrong += errors
                total += len(expected)
                worst = max(worst, errors / len(expected))
            print(
                f"| {language} | {dpi} | {len(pages)} | {wrong / total:.2%} | "
                f"{bare_wrong / bare_total:.2%} | {worst:.2%} | {sum(seconds) / len(seconds):.1f} "
                f"| {sorted(seconds)[len(seconds) // 2]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
