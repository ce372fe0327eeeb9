"""Citations as annotations of a text, in the shape of OpenAI's, and as Markdown."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from knotwork.records import Answer, Citation, Document
from knotwork.service.openai.shapes import Annotation, UrlCitation

_MARK = re.compile(r"\[(\d{1,4})\]")
_QUOTE_LENGTH = 160


def page_of(citation: Citation, *, workspace: str, base_url: str) -> str:
    """Return the address of the page that shows a citation in its document."""
    place = {
        "ws": workspace,
        "chunk": citation.chunk_id,
        "start": citation.span.start,
        "end": citation.span.end,
    }
    document = Document(citation.document, "").id
    return f"{base_url.rstrip('/')}/ui/documents/{document}?{urlencode(place)}"


def annotate(answer: Answer, *, workspace: str, base_url: str, shift: int = 0) -> list[Annotation]:
    """Return an annotation for every mark such as [1] in the text of an answer, in its order.

    An answer that is none has no marks; its nearest passages are then all at the end of the text.
    ``shift`` is where the text begins in what it is a part of.
    """
    known = {citation.number: citation for citation in answer.citations}
    text = answer.text
    places = [
        (match.start(), match.end(), known[int(match[1])])
        for match in _MARK.finditer(text)
        if answer.answered and int(match[1]) in known
    ]
    if not answer.answered:
        places = [(len(text), len(text), citation) for citation in answer.citations]
    return [
        Annotation(
            url_citation=UrlCitation(
                start_index=shift + start,
                end_index=shift + end,
                title=citation.title or citation.document,
                url=page_of(citation, workspace=workspace, base_url=base_url),
            )
        )
        for start, end, citation in places
    ]


def list_sources(answer: Answer, *, workspace: str, base_url: str) -> str:
    """Return the sources of an answer as a list in Markdown, for what shows no annotations."""
    lines = []
    for citation in answer.citations:
        page = page_of(citation, workspace=workspace, base_url=base_url)
        place = ", ".join(part for part in (citation.document, citation.section) if part)
        quote = _plain(citation.quote)
        lines.append(f"{citation.number}. [{_plain(place)}]({page}): {quote}")
    return "\n\n" + "\n".join(lines) if lines else ""


def _plain(text: str) -> str:
    """Return a text on one line that Markdown does not read anything into."""
    line = " ".join(text.split())[:_QUOTE_LENGTH]
    return re.sub(r"([\\`*_\[\]<>()!#|])", r"\\\1", line)
