"""Plain text from marked-up text."""

from __future__ import annotations

import re

_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)")


def strip_links(text: str) -> str:
    """Replace Markdown links and images by their texts: "[report](storm.md)" is "report"."""
    return _LINK.sub(r"\1", text)
