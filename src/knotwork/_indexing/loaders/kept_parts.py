"""Leave out or replace parts of the text of a document, with all spans moved."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from knotwork._indexing.loaders.loader import Content
from knotwork.records import Span

T = TypeVar("T")


def keep_parts(content: Content, parts: Sequence[tuple[Span, str]]) -> Content:
    """Return a content of these parts of its text, each with the text that it has from now on.

    What has no text any more is left out: blocks, links, pages and boxes.
    """
    kept = _KeptParts(content.text, parts)
    end = len(content.text)
    blocks = kept.moved((block, block.span) for block in content.blocks)
    pages = kept.moved((page, Span(page.start, end)) for page in content.pages)
    boxes = kept.moved((box, box.span) for box in content.boxes)
    links = kept.moved((link, link.span) for link in content.links)
    anchors = kept.moved((anchor, Span(anchor.start, end)) for anchor in content.anchors)
    return replace(
        content,
        text=kept.text,
        blocks=tuple(block._replace(span=span) for block, span in blocks),
        link_lines=tuple(span for _, span in kept.moved((s, s) for s in content.link_lines)),
        links=tuple(link._replace(span=span) for link, span in links),
        anchors=tuple(anchor._replace(start=span.start) for anchor, span in anchors),
        pages=tuple(replace(page, start=span.start) for page, span in pages),
        boxes=tuple(box._replace(span=span) for box, span in boxes),
    )


class _KeptParts:
    """The text of the parts; maps old spans to new ones."""

    def __init__(self, text: str, parts: Sequence[tuple[Span, str]]) -> None:
        written: list[str] = []
        length = 0
        self._starts = [part.start for part, _ in parts]
        self._ends = [part.end for part, _ in parts]
        self._moves: list[tuple[int, int]] = []
        for number, (part, new) in enumerate(parts):
            if number:
                between = text[self._ends[number - 1] : part.start]
                if not between.isspace():  # something is left out here
                    indent = between.rpartition("\n")[2]
                    between = ("\n\n" if "\n\n" in between else "\n") + indent
                written.append(between)
                length += len(between)
            written.append(new)
            self._moves.append((length - part.start, length + len(new) - part.end))
            length += len(new)
        self.text = "".join(written)

    def _move(self, span: Span) -> Span:
        """Return the new span, from its first kept character to its last; empty if none is kept."""
        first = bisect_right(self._ends, span.start)
        last = bisect_left(self._starts, span.end) - 1
        if first > last:
            return Span(0, 0)
        start = max(span.start, self._starts[first]) + self._moves[first][0]
        return Span(start, min(span.end, self._ends[last]) + self._moves[last][1])

    def moved(self, spans: Iterable[tuple[T, Span]]) -> Iterator[tuple[T, Span]]:
        """Yield the items that still have text, with their new spans."""
        for item, span in spans:
            new = self._move(span)
            if new.end > new.start:
                yield item, new
