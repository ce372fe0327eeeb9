"""Check that every quote stands in its page and that every answer stands in the quotes.

    python verify.py

Prints each failure and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import docx
import pypdfium2
from docx.text.paragraph import Paragraph
from lxml import etree
from lxml import html as lxml_html

HERE = Path(__file__).resolve().parent
TYPES = {
    "fact": 10,
    "list": 9,
    "howto": 8,
    "table": 5,
    "definition": 5,
    "code": 3,
    "compare": 3,
    "twopages": 3,
    "overview": 2,
    "none": 5,
}
# The target of a Markdown link, and the marks of emphasis, code, tables, headings and lists.
MARKUP = re.compile(r"\]\([^)]*\)|[*_`|\[\]\\#>]|^\s*(?:[-+]|\d+\.)\s|-{3,}", re.MULTILINE)


def text_of(path: Path) -> str:
    """The text that a person sees on the page, in the order of the page."""
    if path.suffix == ".docx":
        document = docx.Document(str(path))
        paragraphs = document.element.body.iter("{*}p")
        return "\n".join(Paragraph(element, document).text for element in paragraphs)
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as pdf:
            return "\n".join(sheet.get_textpage().get_text_range() for sheet in pdf)
    if path.suffix == ".html":
        tree = lxml_html.fromstring(path.read_bytes(), parser=lxml_html.HTMLParser(encoding="utf8"))
        etree.strip_elements(tree, "head", "script", "style", with_tail=False)
        return " ".join(str(text) for text in tree.itertext())
    return html.unescape(path.read_text("utf8"))


def tight(text: str, *, markup: bool = False) -> str:
    """Text without white space, marks and differences of case; ``markup``: it is Markdown."""
    text = unicodedata.normalize("NFKC", text)
    if markup:
        text = MARKUP.sub("", text)
    text = re.sub(r"[*_`|\[\]\\#>]", "", text)
    # pdfium gives U+FFFE or U+0002 where a word was broken at the end of a line.
    return re.sub(r"[\s\u00ad\u0002\ufffe]+", "", text).casefold()


@cache
def page(name: str) -> str:
    path = HERE / "docs" / name
    return tight(text_of(path), markup=path.suffix in {".md", ".txt"})


def failures(question: dict[str, Any]) -> list[str]:
    quotes = [evidence["quote"] for evidence in question["evidence"]]
    files = {evidence["file"] for evidence in question["evidence"]}
    found = [
        f"not in {evidence['file']}: {evidence['quote']!r}"
        for evidence in question["evidence"]
        if tight(evidence["quote"]) not in page(evidence["file"])
    ]
    together = " ".join(" ".join(quotes).casefold().split())
    found += [
        f"in no quote: {group!r}"
        for group in question["answers"]
        if not any(" ".join(answer.casefold().split()) in together for answer in group)
    ]
    if (question["type"] == "none") != (not question["answers"]):
        found.append("only questions of type none have no answers")
    if question["type"] == "twopages" and len(files) < 2:
        found.append("twopages needs two pages")
    return found


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    lines = (HERE / "questions.jsonl").read_text("utf8").splitlines()
    questions = [json.loads(line) for line in lines]
    problems = [f"{q['qid']}: {problem}" for q in questions for problem in failures(q)]
    counts = Counter(question["type"] for question in questions)
    if counts != TYPES:
        problems.append(f"counts by type: {dict(counts)}, not {TYPES}")
    if len({question["qid"] for question in questions}) < len(questions):
        problems.append("a qid occurs twice")
    print(*problems, sep="\n")
    print(f"{len(questions)} questions, {len(problems)} failures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
