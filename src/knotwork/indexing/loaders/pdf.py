"""PDF: the text of its pages, with the outline's headings where they stand in the text."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from knotwork.errors import LoadError
from knotwork.indexing.loaders.archives import needs_password
from knotwork.indexing.loaders.base import Content, Source, TextBuilder, clean_text, flat_metadata
from knotwork.indexing.loaders.cues import FEWEST_PAGES
from knotwork.records import Heading, Span

_WIDE = "\u3400-\u9fff\u3000-\u303f\uff00-\uffef"
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ]{2})[-\u00ad]\n(?=[a-zß-ÿ]{2})")
_WRAPPED_WIDE = re.compile(rf"(?<=[{_WIDE}]{{12}})[ ]*\n[ ]*(?=[\u3400-\u9fff])")
_ENDS_PARAGRAPH = re.compile(r"[.!?。！？:：]['\"”’」』)）\]\d]*\s*\Z")
_DIGITS = re.compile(r"\d+")


class PdfLoader:
    """Reads the text layer of a PDF, page by page; running heads and page numbers are left out."""

    name = "pdf"
    suffixes = (".pdf",)
    signatures = (b"%PDF-",)

    def load(self, source: Source) -> Content:
        from pypdf import PdfReader

        _quieten()
        reader = PdfReader(io.BytesIO(source.data), strict=False)
        if reader.is_encrypted and not reader.decrypt(source.password):
            raise needs_password(source)
        pages = _without_running_lines([_page_text(page) for page in reader.pages])
        if not any(page.strip() for page in pages):
            held = "1 page" if len(pages) == 1 else f"{len(pages):,} pages"
            raise LoadError(
                "no_text",
                f"`{source.uri}` has {held} without any text: it is probably a scan.",
                fix="Run it through a text recognition program (OCR) first.",
            )
        builder = TextBuilder()
        for number, page in enumerate(pages, start=1):
            if page.strip():
                _add_page(builder, str(number), page)
        content = builder.content("application/pdf")
        return Content(
            text=content.text,
            media_type=content.media_type,
            title=_text_of(reader.metadata, "/Title"),
            metadata={**_metadata(reader), "pages": str(len(pages))},
            headings=_outline_headings(reader, content),
            pages=content.pages,
        )


def _quieten() -> None:
    """Keep pypdf's remarks on sloppy files out of the user's terminal, unless they asked."""
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def _page_text(page: Any) -> str:  # noqa: ANN401 - a pypdf page
    text = clean_text(page.extract_text() or "")
    text = _HYPHENATED.sub("", text)
    return _WRAPPED_WIDE.sub("", text)


def _without_running_lines(pages: Sequence[str]) -> list[str]:
    """Leave out first and last lines that most pages share, numbers apart."""
    lines = [page.strip().split("\n") for page in pages]
    if len(lines) < FEWEST_PAGES:
        return list(pages)
    for place in (0, -1):
        shapes = Counter(_DIGITS.sub("#", page[place].strip()) for page in lines if len(page) > 1)
        running = {shape for shape, count in shapes.items() if shape and 2 * count > len(lines)}
        for page in lines:
            if len(page) > 1 and _DIGITS.sub("#", page[place].strip()) in running:
                del page[place]
    return ["\n".join(page) for page in lines]


def _add_page(builder: TextBuilder, label: str, page: str) -> None:
    """Append a page, in one paragraph with the last where a sentence runs on."""
    runs_on = bool(builder.pages) and not _ENDS_PARAGRAPH.search(builder.tail)
    first = page.lstrip()[:1]
    gap = "\n" if runs_on and (first.islower() or "\u3400" <= first <= "\u9fff") else "\n\n"
    builder.page(label, gap=len(gap))
    builder.add(page, gap=gap)


def _text_of(metadata: Mapping[str, object] | None, key: str) -> str:
    """Return an entry of the document information, which may be of any type in a sloppy file."""
    value = (metadata or {}).get(key)
    return " ".join(clean_text(value).split()) if isinstance(value, str) else ""


def _metadata(reader: Any) -> dict[str, str]:  # noqa: ANN401 - a pypdf reader
    information = reader.metadata
    date = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", _text_of(information, "/CreationDate"))
    return flat_metadata(
        {
            "author": _text_of(information, "/Author"),
            "subject": _text_of(information, "/Subject"),
            "keywords": _text_of(information, "/Keywords"),
            "date": "-".join(filter(None, date.groups())) if date else "",
        }
    )


def _outline_headings(reader: Any, content: Content) -> tuple[Heading, ...]:  # noqa: ANN401
    """Return the bookmarks whose title is found on their page, in the order of the text.

    Sizes of type are no reliable sign of a heading; what the author marked is.
    """
    from pypdf.errors import PyPdfError

    starts = {page.label: page.start for page in content.pages}
    headings: list[Heading] = []
    position = 0
    try:
        for level, title, number in _bookmarks(reader, reader.outline, 1):
            start = max(position, starts.get(str(number), len(content.text)))
            words = [re.escape(word) for word in title.split()]
            if not words or len(words) > 40:
                continue
            match = re.compile(r"\s+".join(words)).search(content.text, start, start + 20_000)
            if match:
                headings.append(Heading(level, " ".join(title.split()), Span(*match.span())))
                position = match.end()
    except (PyPdfError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        # A broken outline costs the headings, not the text.
        return tuple(headings)
    return tuple(headings)


def _bookmarks(reader: Any, outline: Any, level: int) -> Iterator[tuple[int, str, int]]:  # noqa: ANN401
    for item in outline:
        if isinstance(item, list):
            yield from _bookmarks(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        if page is not None and isinstance(item.title, str):
            yield level, clean_text(item.title), page + 1
