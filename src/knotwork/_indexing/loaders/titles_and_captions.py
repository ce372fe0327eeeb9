"""Recognize captions, terms, box titles and font styles, and choose a document's title."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knotwork._indexing.loaders.loader import Content
from knotwork.records import BlockKind

MIN_REPEATING_PAGES = 4
"""Fewest pages or slides of a document for removing what most of them repeat."""
MAX_TERM_LENGTH = 60
MAX_TITLE_LENGTH = 80
_GENERIC_TITLE = re.compile(
    r"note|tip|warning|caution|important|hint|danger|attention|error|注意|注|提示|警告|小心|重要",
    re.IGNORECASE,
)
_NO_TERM = re.compile(
    r"notes|e\.g|examples?|for example|info|summary|question|answer|[qa]"
    r"|例如|例|示例|说明|备注|问|答",
    re.IGNORECASE,
)
_NUMBERED = r"\s*(?:[A-Z][.-]?)?\d+(?:[.-]\d+)*"
_TABLE_NAMES = r"(?:(?:Table|Tab\.|Tabelle|Tableau|Tabla)|(?:附?表格?))"
_FIGURE_NAMES = (
    r"(?:(?:Figure|Fig\.|Abbildung|Abb\.|Chart|Exhibit|Listing|Example|Box)|(?:附?图|圖|示例|代码))"
)
_CAPTION = re.compile(
    rf"(?:(?P<table>{_TABLE_NAMES})|{_FIGURE_NAMES}){_NUMBERED}(?:\s*[.:：—–|-]|\s{{2,}}|\s+(?=\S)|\s*$)"
)
_EMPTY_DESCRIPTION = re.compile(
    r"(?:image|img|picture|figure|photo|screenshot|图片?|图像|截图)?[\s\d_-]*"
    r"|\S+\.(?:png|jpe?g|gif|svg|webp)|(?:\S{1,40} ){0,2}(?:logo|icon|avatar|spacer|bullet)|\W*",
    re.IGNORECASE,
)
_MAX_CAPTION_LENGTH = 200
_ENDS_SENTENCE = re.compile(r"[.!?。！？…;；,，][\"'”’)）]*$")
_SEPARATED = re.compile(r"\s*[:：.。—–](?=\s|$|[\u3400-\u9fff])|\s+-\s")
_BOLD = re.compile(r"bold|black|heavy|semib|demi|medi\b|cmbx|-b\b", re.IGNORECASE)
_MONOSPACED = re.compile(
    r"consolas|courier|menlo|monaco|inconsolata|lucida ?console|\bmono\b|mono(?=[-\d]|$)|nimbusmon"
    r"|fira code|source code|andale|cmtt|typewriter|fixedsys|terminal",
    re.IGNORECASE,
)


def is_generic_title(text: str) -> bool:
    """Return True for a title that names only the kind of a box, such as "Note" or "Warning"."""
    return _GENERIC_TITLE.fullmatch(text.strip().rstrip(":：!！.")) is not None


def is_empty_description(text: str) -> bool:
    """Return True for a text of a picture that says nothing, such as its file name."""
    return _EMPTY_DESCRIPTION.fullmatch(text.strip()) is not None


def is_caption(text: str) -> bool:
    """Return True if a line is a numbered caption of a table, figure or listing."""
    line = text.strip()
    return len(line) <= _MAX_CAPTION_LENGTH and _CAPTION.match(line) is not None


def is_table_caption(text: str) -> bool:
    """Return True if a line begins like the caption of a table."""
    match = _CAPTION.match(text.strip())
    return match is not None and bool(match["table"])


def is_title_like(text: str) -> bool:
    """Return True if a line may be a title: short, with letters, not ending like a sentence."""
    line = text.strip()
    longest = MAX_TITLE_LENGTH if line.isascii() else MAX_TITLE_LENGTH // 2
    return (
        0 < len(line) <= longest
        and "\n" not in line
        and any(map(str.isalpha, line))
        and not line.endswith((":", "："))
        and _ENDS_SENTENCE.search(line) is None
    )


def is_bold_font(font: str) -> bool:
    """Return True if the name of a font is that of a bold one."""
    return _BOLD.search(font) is not None


def is_monospaced_font(font: str) -> bool:
    """Return True if the name of a font is that of a monospaced one."""
    return _MONOSPACED.search(font) is not None


def run_in_term(runs: Iterable[tuple[str, bool]]) -> str:
    """Return the bold term that a paragraph begins with, or "".

    An example is "**Timeout:** The time to wait." ``runs`` are the parts of the paragraph, each
    with True if it is bold. Bold words without a separator after them are emphasis, not a term.
    """
    bold = rest = ""
    for text, is_bold in runs:
        if rest or not (is_bold or not text.strip()):
            rest += text
        else:
            bold += text
    name = bold.strip().rstrip(":：.。—– ")
    last = bold.rstrip()[-1:]
    is_separated = (
        last in {*":：。—–"}
        or (last == "." and not rest.lstrip()[:1].islower())
        or _SEPARATED.match(rest) is not None
    )
    is_term = (
        is_separated
        and any(map(str.isalpha, rest))
        and 0 < len(name) <= MAX_TERM_LENGTH
        and not is_generic_title(name)
        and not _NO_TERM.fullmatch(name)
    )
    return name if is_term else ""


_TERM = re.compile(
    r"([^:：\n]{1,60}?)\s*(?:：|:(?=\s|[\u3400-\u9fff“《（])|(?<=[\u3400-\u9fff]):)\s*(?=\S)(?!//)"
)
_NOT_IN_TERM = re.compile(r"[.!?。！？;；]\s|[,，]|[。！？；]|https?$")


def item_term(text: str) -> str:
    """Return the term that a list item or line of the form "term: text" begins with, or ""."""
    match = _TERM.match(text)
    if match is None:
        return ""
    term = match[1].strip("“”\"'`*（）() ")
    longest = MAX_TERM_LENGTH if term.isascii() else MAX_TERM_LENGTH // 3
    if not 0 < len(term) <= longest or _NOT_IN_TERM.search(match[1]):
        return ""
    return "" if _NO_TERM.fullmatch(term) or is_generic_title(term) else term


MAX_DOCUMENT_TITLE_LENGTH = 120
_FIRST_LINE = re.compile(r"\s*([^\n]{2,200})(?:\n|$)")
_ENDS_LIKE_TEXT = re.compile(r"[.。!！,，;；:：…]['\"”’」』)）]*$")
_STARTS_LIKE_TEXT = re.compile(r"[-*+•>|\[{<=~`#/\\(]|\d{4}-\d\d|---")
_NO_TITLE = re.compile(
    r"(?:untitled.*|microsoft (?:word|powerpoint|excel).*|document ?\d*|powerpoint presentation"
    r"|slide ?\d*|presentation ?\d*|title|.*\.(?:docx?|pptx?|xlsx?|pdf|dvi|tex|indd|qxd)"
    r"|新建.*|未命名.*|演示文稿\d*|文档\d*)",
    re.IGNORECASE,
)


def choose_title(content: Content, file_name: str) -> str:
    """Return the title in the metadata, else the top heading, the first line or the file name.

    The permalink of a note without a title ends with the title that its author gave it.
    """
    title = content.title.strip()
    if title and len(title) <= 2 * MAX_DOCUMENT_TITLE_LENGTH and not _NO_TITLE.fullmatch(title):
        return title
    heading = _top_heading(content)
    if heading:
        return heading
    line = _FIRST_LINE.match(content.text)
    if line and _may_be_document_title(line.group(1).strip(), content.text[line.end() :]):
        return line.group(1).strip()
    return _title_in_path(content.metadata.get("permalink", "")) or readable_name(file_name)


def _title_in_path(permalink: str) -> str:
    """Return the last part of a path if it is a title rather than a file name, or ""."""
    last = permalink.rstrip("/").rpartition("/")[2].strip()
    is_title = " " in last or not last.isascii()
    return last if is_title and len(last) <= MAX_DOCUMENT_TITLE_LENGTH else ""


def readable_name(file_name: str) -> str:
    """Return a file name without its suffix, with spaces between its words."""
    stem = file_name.rpartition(".")[0] or file_name
    return " ".join(re.sub(r"[_\-.+]+|%20", " ", stem).split()) or file_name


def _top_heading(content: Content) -> str:
    """Return the first heading if the text begins with it, or if it is above all others, or ""."""
    sections = [block for block in content.blocks if block.kind is BlockKind.SECTION]
    if not sections:
        return ""
    top = sections[0]
    first = not content.text[: top.span.start].strip()
    alone = all(section.level > top.level for section in sections[1:])
    near = top.span.start <= 2_000
    return (
        top.label
        if (first or (alone and near)) and len(top.label) <= MAX_DOCUMENT_TITLE_LENGTH
        else ""
    )


def _may_be_document_title(line: str, rest: str) -> bool:
    """Return True if the first line of a text may be its title.

    Longer titles than in `is_title_like` are allowed, but none that begins in lower case.
    """
    longest = MAX_DOCUMENT_TITLE_LENGTH if line.isascii() else MAX_DOCUMENT_TITLE_LENGTH // 2
    return (
        len(line) <= longest
        and bool(rest.strip())
        and any(character.isalpha() for character in line)
        and not line[0].islower()
        and not _ENDS_LIKE_TEXT.search(line)
        and not _STARTS_LIKE_TEXT.match(line)
        and len(line.split()) <= 16
    )
