"""Load LaTeX, AsciiDoc and Org: they are turned into Markdown, and read as it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.latex import latex_as_markdown
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source
from knotwork._indexing.loaders.markdown import add_markdown, pop_title, read_front_matter

IS_ORG = re.compile(r"^(?:\*{2,6} \S|#\+(?i:title|begin_src|begin_example):?\s)", re.MULTILINE)
_ORG_HEADING = re.compile(
    r"(\*{1,6}) (?:(?:TODO|DONE|NEXT|WAITING|CANCELLED) )?(?:\[#\w\] )?(?=\S)"
)
_ORG_TAGS = re.compile(r"[ \t]+:[\w@#%:]{1,200}:[ \t]*$")
_ORG_CODE = re.compile(r"\s*#\+begin_(src|example|export)\s*([\w+#-]*).*", re.IGNORECASE)
_ORG_TERM = re.compile(r"(\s*[-+] )(.{1,80}?) :: ")
_ORG_BORDER = re.compile(r"\s*\|[-+]+\|\s*")
_ORG_PROPERTY = re.compile(r"\s*:[\w+-]{1,60}:(?:\s.*)?")
_ORG_LINK = re.compile(r"\[\[([^\[\]\n]{1,2000})\](?:\[([^\[\]\n]{1,500})\])?\]")
_ORG_START = re.compile(r"(\s*)\d{1,9}([.)]) \[@(\d{1,9})\]")
_ORG_STRUCK = re.compile(
    r"(?<![^\s({'\"-])\+(?=[^\s+])[^+\n]{1,300}(?<=\S)\+(?![^\s.,:!?;'\")}\[-])"
)
_ORG_TITLE = re.compile(r"#\+title:\s*(?=\S)", re.IGNORECASE)


class MarkupLoader(FormatLoader, name="markup"):
    """Reads .tex, .adoc and .org."""

    def load(self, source: Source) -> Content:
        text, metadata = read_front_matter(decode_text(source), uri=source.uri)
        media_type, as_markdown = _MARKUPS[source.suffix if source.suffix in _MARKUPS else ".org"]
        writer = BlockWriter(source)
        add_markdown(writer, "\n".join(as_markdown(text)))
        return writer.content(media_type, title=pop_title(metadata), metadata=metadata)


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    """Yield lines up to one that is ``end``, which is taken too."""
    return takewhile(lambda line: line.strip().lower() != end, lines)


def org_as_markdown(text: str) -> Iterator[str]:
    """Yield the lines of an Org file as Markdown."""
    lines = iter(text.split("\n"))
    is_table = False
    for line in lines:
        was_table, is_table = is_table, line.lstrip().startswith("|")
        if is_table and not was_table:
            yield ""
        if code := _ORG_CODE.fullmatch(line):
            yield f"```{code[2]}"
            yield from _until(lines, f"#+end_{code[1].lower()}")
            yield "```"
        elif line.strip().upper() in (":PROPERTIES:", ":LOGBOOK:"):
            yield from (
                held for held in _until(lines, ":end:") if not _ORG_PROPERTY.fullmatch(held)
            )
        elif heading := _ORG_HEADING.match(line):
            title = _ORG_LINK.sub(_org_link, _ORG_TAGS.sub("", line[heading.end() :]))
            yield f"{'#' * len(heading[1])} {title}"
        elif named := _ORG_TITLE.match(line):
            yield f"# {line[named.end() :]}"
        elif _ORG_BORDER.fullmatch(line):
            yield line.replace("+", "|")
        else:
            is_unseen = line.lstrip().startswith(("#+", "# "))
            shown = "" if is_unseen else _ORG_TERM.sub(r"\1**\2:** ", line)
            shown = _ORG_STRUCK.sub("", _ORG_START.sub(r"\1\3\2", shown, count=1))
            yield _ORG_LINK.sub(_org_link, shown)


def _org_link(found: re.Match[str]) -> str:
    path, _, part = found[1].removeprefix("file:").partition("::")
    if not part and path[0] in "*#":
        path, part = "", path
    target = f"{path}#{part.lstrip('*#')}" if part else path
    return f"[{found[2] or found[1].lstrip('*')}](<{target}>)"


_ADOC_HEADING = re.compile(r"(={1,6}) (?=\S)")
_ADOC_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5}|\d+\.)[ \t]+(?=\S)")
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,})(\w*)\s*")
_ADOC_UNSEEN = re.compile(
    r"//(?!//).*|:!?[\w-]+!?:.*|\[.*\]|\+|'''|<<<|={4,}|\*{4,}|_{4,}|--|(?:include|toc|image|video)::.*"
)
_ADOC_TERM = re.compile(r"(\S.{0,100}?)(?::{2,4}|;;)(?:[ \t]+(.*))?$")
_MOST_COLUMNS = 200
_ADOC_TITLE = re.compile(r"\.([^\s.].*)")
_ADOC_BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,500})(?<=[^\s*])\*(?![\w*])")
_ADOC_LANGUAGE = re.compile(r"\[(?:source|listing)?,\s*([\w+#-]{1,20}).*\]")
_ADOC_LINK = re.compile(
    r"(?:link:|xref:)?((?:https?://|mailto:|[\w./#-]{1,200}(?=\[))[^\s\[\]]{0,500})\[([^\]\n]{1,300})\]"
)
_ADOC_REFERENCE = re.compile(r"<<([^<>,\n]{1,100})(?:,\s*([^<>\n]{1,200}))?>>")
_ADOC_ANCHOR = re.compile(r"\[(?:\[|#)([\w:.-]{1,100})(?:[,.%][^\[\]]*)?\]{1,2}")
_ADOC_STRUCK = re.compile(r"\[\.?line-through\](#{1,2})[^#\n]{1,500}\1")
_ADOC_START = re.compile(r"\[(?:[\w%]{1,20},\s*)?start=\"?(\d{1,9})\"?\]")
_ADOC_NOTE = re.compile(r"footnote:\w{0,40}\[([^\]\n]{1,1000})\]")
_ADOC_CELL = re.compile(r"(?:^|[ \t])(?:\d*[.+*]?\d*[+*]?[<^>]?(?:\.[<^>])?[aehlmsv]?)\|")


def asciidoc_as_markdown(text: str) -> Iterator[str]:
    """Yield the lines of an AsciiDoc file as Markdown."""
    lines = iter(text.split("\n"))
    language, number, stop = "", "1", "."
    for line in lines:
        plain = line.rstrip()
        if plain.startswith("////"):
            deque(_until(lines, plain), maxlen=0)
        elif fence := _ADOC_FENCE.fullmatch(plain):
            yield f"~~~~{fence[2] or language}"
            yield from _until(lines, fence[1])
            yield "~~~~"
            language = ""
        elif plain == "|===":
            yield from _asciidoc_table(_until(lines, plain))
        elif named := _ADOC_LANGUAGE.fullmatch(plain):
            language = named[1]
        elif anchor := _ADOC_ANCHOR.fullmatch(plain):
            yield f'<a id="{anchor[1]}"></a>\n'
        elif start := _ADOC_START.fullmatch(plain):
            number, stop = start[1], ")" if stop == "." else "."  # another stop begins a list
            yield ""
        else:
            shown = _asciidoc_line(plain)
            is_item = shown.startswith("1. ")
            yield f"{number}{stop}{shown[2:]}" if is_item else shown
            number = "1" if is_item else number


def _asciidoc_line(line: str) -> str:
    shown = "" if _ADOC_UNSEEN.fullmatch(line) else _inline(line)
    if heading := _ADOC_HEADING.match(shown):
        shown = f"\n{'#' * len(heading[1])} {shown[heading.end() :]}\n"
    elif title := _ADOC_TITLE.fullmatch(shown):
        shown = f"\n**{title[1]}**\n"
    elif item := _ADOC_ITEM.match(shown):
        mark = item[1]
        indent = "   " * (len(mark) - 1 if mark[0] in "*." else 0)
        shown = f"{indent}{'-' if mark[0] in '*-' else '1.'} {shown[item.end() :]}"
    elif term := _ADOC_TERM.fullmatch(shown):
        shown = f"\n{term[1]}\n: {term[2]}" if term[2] else f"\n{term[1]}:\n"
    return shown


def _inline(text: str) -> str:
    text = _ADOC_NOTE.sub(r" (\1)", _ADOC_STRUCK.sub("", text))
    text = _ADOC_REFERENCE.sub(lambda found: _adoc_link(found, "#"), text)
    text = _ADOC_LINK.sub(_adoc_link, text)
    return _ADOC_BOLD.sub(r"**\1**", text)


def _adoc_link(found: re.Match[str], inside: str = "") -> str:
    """Return a link or a reference in Markdown; what names no file is in the document."""
    target = found[1] if "#" in found[1] or not inside else f"#{found[1]}"
    return f"[{found[2] or found[1]}](<{target}>)"


def _asciidoc_table(lines: Iterator[str]) -> Iterator[str]:
    """Yield the rows of a table as Markdown; the first line with cells has one for each column."""
    cells: list[str] = []
    columns = 0
    for line in lines:
        first, *found = _ADOC_CELL.split(line.rstrip())
        if cells and first.strip():
            cells[-1] += f" {_inline(first.strip())}"
        cells += (_inline(cell.strip()).replace("|", "/") for cell in found)
        columns = columns or min(len(found), _MOST_COLUMNS)
    for number in range(0, len(cells), columns or 1):
        yield f"| {' | '.join(cells[number : number + columns])} |"
        if not number:
            yield f"|{' --- |' * columns}"
    yield ""


_MARKUPS: Mapping[str, tuple[str, Callable[[str], Iterator[str]]]] = {
    ".org": ("text/x-org", org_as_markdown),
    ".tex": ("text/x-tex", latex_as_markdown),
    ".adoc": ("text/asciidoc", asciidoc_as_markdown),
    ".asciidoc": ("text/asciidoc", asciidoc_as_markdown),
}
