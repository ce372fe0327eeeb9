"""Load LaTeX, AsciiDoc and Org: they are turned into Markdown, and read as it.

Formulas of LaTeX stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from knotwork._extensions.formats.list_numbers import written_number
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source
from knotwork._indexing.loaders.markdown import add_markdown, pop_title, read_front_matter

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
    r"(?:link:|xref:)?((?:https?://|mailto:|(?<![\w./#-])[\w./#-]{1,200}(?=\[))[^\s\[\]]{0,500})"
    r"\[([^\]\n]{1,300})\]"
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


_LEVELS = {
    "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5,
    "frametitle": 2, "title": 1,
}  # fmt: skip
_CODE = ("verbatim", "lstlisting", "minted", "Verbatim", "alltt")
_MATH = ("equation", "align", "gather", "multline", "displaymath", "eqnarray", "math")
_TABLES = ("tabular", "tabularx", "longtable", "array", "tabulary")
_MATH_ENDS = {"$": "$", "$$": "$$", "\\[": "\\]", "\\(": "\\)"}
_TOKEN = re.compile(
    r"\\begin[ ]*\{(?P<begin>[A-Za-z]{1,40})\*?\}|\\end[ ]*\{(?P<end>[A-Za-z]{1,40})\*?\}"
    r"|(?P<math>\$\$?|\\[\[(])|\\(?P<word>[a-zA-Z@]{1,60})\*?[ \t]*"
    r"|\\(?P<symbol>[^a-zA-Z])|(?P<brace>[{}])|(?P<mark>[&~])|(?P<comment>%[^\n]*\n?[ \t]*)"
)
_DROPPED = re.compile(
    r"label|\w*ref|\w*cite\w*|[vh]space|usepackage|documentclass|includegraphics|input|include"
    r"|(?:print|add)?bib(?:liography|item|resource)\w*|(?:re)?newcommand|providecommand|set\w+"
    r"|(?:this)?page(?:style|numbering)|addtocounter|hypersetup|index|graphicspath|definecolor"
    r"|(?:text)?color|cmidrule|cline|multicolumn|multirow|href|rule|vskip"
)
"""Commands whose first arguments are left out; `_WITH_TEXT` says how many."""
_WITH_TEXT = {"href": 1, "textcolor": 1, "multicolumn": 2, "multirow": 2}
_AROUND = {
    "textbf": ("**", "**"), "texttt": ("`", "`"), "footnote": (" (", ")"),
    "footnotetext": (" (", ")"), "textsuperscript": ("<sup>", "</sup>"),
    "textsubscript": ("<sub>", "</sub>"), "sout": ("<s>", "</s>"), "st": ("<s>", "</s>"),
    "caption": ("\n\n", "\n\n"), "author": ("\n\n", "\n\n"), "date": ("\n\n", "\n\n"),
}  # fmt: skip
_CHARACTERS = {
    "ldots": "…", "dots": "…", "textendash": "–", "textemdash": "—", "S": "§", "ss": "ß", "ae": "æ",
    "oe": "œ", "o": "ø", "aa": "å", "O": "Ø", "AE": "Æ", "textbackslash": "\\\\", "quad": " ",
    "euro": "€", "texteuro": "€", "copyright": "©", "LaTeX": "LaTeX", "TeX": "TeX", "newline": "\n",
    "par": "\n\n", "textdegree": "°", "degree": "°", "newpage": "\n\n", "slash": "/", "i": "i",
}  # fmt: skip
_MARKS = (769, 768, 770, 776, 771, 772, 775, 807, 780, 774, 779, 808, 778)
_ACCENTS = dict(zip("'`^\"~=.cvuHkr", map(chr, _MARKS), strict=True))
_ACCENT = re.compile(
    r"\\(?:([`'^\"~=.])[ ]*|([cvuHkr])(?:(?=\{)|[ ]+))"
    r"(?:\{\\?([A-Za-z])\}|\\?([A-Za-z])(?![A-Za-z]*\{))"
)
_HEAD = re.compile(r"\\(?:title|author|date)(?=[\[{])")
_BRACE = re.compile(r"\\.|[{}]")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|#]")
_FORMS = {"alph": "a", "Alph": "A", "roman": "i", "Roman": "I", "arabic": "1"}
_LABEL = re.compile(
    r"label\s*=\s*\{?([^\\,{}]{0,20})\\(alph|Alph|roman|Roman|arabic)\*([^,{}]{0,20})"
    r"|(\W{0,3})([aAiI1])(\W{0,3})$"
)
_START = re.compile(r"start\s*=\s*(\d{1,6})(?!\d)")
_MARK = re.compile(r"\[(\d{1,3})\]")
_COUNTER = re.compile(r"\{enum[iv]{1,3}\}\s{0,9}\{\s{0,9}(\d{1,6})\s{0,9}\}")
_LONGEST = 20_000
"""Characters of an argument or a formula: a longer one is text."""
_MOST_CELLS = 200
_CELL, _ROW = "\x1e", "\x1f"
_SEPARATORS = {"&": ("&", _CELL), "\\\\": ("\n", _ROW)}
"""What is written for the ends of cells and rows outside tables, and in them."""
_SYMBOLS = {
    "~": " ", "\\,": " ", "\\;": " ", "\\:": " ", "\\ ": " ", "\\\n": " ", "\\-": "", "\\/": "",
}  # fmt: skip


def latex_as_markdown(text: str) -> Iterator[str]:
    """Yield a file of LaTeX as Markdown."""
    text = _ACCENT.sub(_accented, text)
    before, begins, body = text.partition("\\begin{document}")
    if begins:
        head = _Converter(before)
        held = (
            f"{found[0]}{{{head.argument(found.end())[0]}}}" for found in _HEAD.finditer(before)
        )
        text = "".join(held) + body
    yield _Converter(text).convert()


def _accented(found: re.Match[str]) -> str:
    mark, letter = found[1] or found[2], found[3] or found[4]
    return unicodedata.normalize("NFC", letter + _ACCENTS[mark])


def _closing_braces(text: str) -> dict[int, int]:
    """Return the places of braces that close those at other places, if they are near."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for found in _BRACE.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}" and opened and found.start() - (start := opened.pop()) < _LONGEST:
            ends[start] = found.start()
    return ends


def _escaped(text: str) -> str:
    text = text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")
    return _SPECIAL.sub(r"\\\g<0>", text)


def _as_it_is(formula: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", " ".join(formula.split()))


@dataclass(slots=True)
class _List:
    """An open list, the last number in it, and how numbers are written ("" for 1, 2, 3)."""

    name: str
    number: int = 0
    form: str = ""
    before: str = ""
    after: str = ""
    stop: str = "."

    def read(self, options: str) -> None:
        """Read the options of a list."""
        if found := _LABEL.match(options) or _LABEL.search(options, options.find("label")):
            before, form, after = filter(None.__ne__, found.groups())
            self.form = _FORMS.get(form, form)
            self.before, self.after = before, after
            if self.form == "1" and not before and after in ("", ".", ")"):
                self.form = ""
        if start := _START.search(options):
            self.number = int(start[1]) - 1


class _Converter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = _closing_braces(text)
        self._found: dict[str, int] = {}  # the next place of what was looked for, -1 for none
        self._parts: list[list[str]] = [[]]  # of the text, and of the tables around the place
        self._closers: list[str] = []
        self._pending = ""
        self._lists: list[_List] = []
        self._stop = ")"  # of the numbers of the last list: another one begins a list
        self._note = 0

    def argument(self, place: int) -> tuple[str, int]:
        """Return the argument in braces at a place, and the place behind it; "" without one."""
        while self._text[place : place + 1] == "[":
            end = self._find("]", place)
            if not place < end < place + _LONGEST:
                return "", place
            place = end + 1
        end = self._ends.get(place, -1)
        return (self._text[place + 1 : end], end + 1) if end > 0 else ("", place)

    def _find(self, text: str, place: int) -> int:
        """Return the next place of a text, -1 for none. Places are asked for in their order."""
        if 0 <= self._found.get(text, 0) < place:
            self._found[text] = self._text.find(text, place)
        return self._found.get(text, -1)

    def convert(self) -> str:
        place = 0
        while (token := _TOKEN.search(self._text, place)) is not None:
            self._add(_escaped(self._text[place : token.start()]))
            place = self._read(token)
        self._add(_escaped(self._text[place:]))
        while len(self._parts) > 1:
            self._end_table()
        return "".join(self._parts[0])

    def _add(self, text: str) -> None:
        if text:
            self._pending = ""
            self._parts[-1].append(text)

    def _read(self, token: re.Match[str]) -> int:
        """Convert what a token begins, and return the place behind it."""
        kind, place = token.lastgroup, token.end()
        if kind == "brace":
            if token[0] == "{":
                self._closers.append(self._pending)
                self._pending = ""
            elif self._closers:
                self._add(self._closers.pop())
        elif kind == "math":
            return self._add_math(token["math"], _MATH_ENDS[token["math"]], place)
        elif kind == "begin":
            return self._begin(token["begin"], place)
        elif kind == "end":
            self._end(token["end"])
        elif kind == "word":
            return self._command(token["word"], place)
        elif token[0] in ("\\\\", "&"):
            in_table = len(self._parts) > 1
            self._add(_SEPARATORS[token[0]][in_table])
        elif kind in ("symbol", "mark"):
            self._add(_SYMBOLS.get(token[0], _escaped(token[0][-1])))
        return place

    def _add_math(self, begin: str, end: str, place: int) -> int:
        stop = self._find(end, place)
        if not place <= stop < place + _LONGEST:
            self._add(_escaped(begin))
            return place
        self._add(_as_it_is(f"{begin}{self._text[place:stop].strip()}{end}"))
        return stop + len(end)

    def _begin(self, name: str, place: int) -> int:
        if name in _CODE or name in _MATH:
            stop = self._find(f"\\end{{{name}", place)
            if stop >= place:
                held = self._text[place:stop]
                if name in _MATH:
                    self._add(f"\n\n{_as_it_is(held)}\n\n")
                else:
                    head, _, code = held.partition("\n")
                    language = re.search(r"language=([\w+#-]+)|\{(\w+)\}", head)
                    named = next(filter(None, language.groups()), "") if language else ""
                    self._add(f"\n\n~~~~{named.lower()}\n{code.rstrip()}\n~~~~\n\n")
                return self._text.find("}", stop + 5) + 1
        elif name in _TABLES:
            if name in ("tabularx", "tabulary"):
                _, place = self.argument(place)
            _, place = self.argument(place)
            self._parts.append([])
        elif name in ("itemize", "enumerate", "description"):
            self._stop = ")" if self._stop == "." else "."
            self._lists.append(_List(name, stop=self._stop))
            self._add("\n" if len(self._lists) > 1 else "\n\n")
            if self._text[place : place + 1] == "[":
                end = self._text.find("]", place, place + 500)
                self._lists[-1].read(self._text[place + 1 : max(place, end)])
                place = max(place, end + 1)
                self._add("\n" if self._lists[-1].number else "")
        elif name == "abstract":
            self._add("\n\n")
        return place

    def _end(self, name: str) -> None:
        if name in _TABLES and len(self._parts) > 1:
            self._end_table()
        elif self._lists and name == self._lists[-1].name:
            self._lists.pop()
            self._add("\n\n" if not self._lists else "\n")
        else:
            self._add("\n\n")

    def _end_table(self) -> None:
        held = "".join(self._parts.pop())
        rows = [
            [" ".join(cell.split()) for cell in row.split(_CELL, _MOST_CELLS)]
            for row in held.split(_ROW)
        ]
        rows = [row for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        lines = [f"| {' | '.join(row)} |" for row in rows]
        if lines:
            lines.insert(1, f"|{' --- |' * min(width, len(rows[0]))}")
            self._add("\n\n" + "\n".join(lines) + "\n\n")

    def _command(self, word: str, place: int) -> int:
        if read := {
            "item": self._add_item,
            "verb": self._add_verbatim,
            "footnotemark": self._add_mark,
            "setcounter": self._set_counter,
        }.get(word):
            return read(place)
        self._note += word == "footnote"
        if _DROPPED.fullmatch(word):
            for _ in range(_WITH_TEXT.get(word, 3)):
                _, place = self.argument(place)
            if self._parts[-1][-1:] == [" "] and self._text[place : place + 1] in ".,;:)":
                self._parts[-1].pop()  # of what is cited before a mark
            return place
        if word in _CHARACTERS:
            self._add(_CHARACTERS[word])
            return place
        begin, end_ = _AROUND.get(word, ("", ""))
        if word in _LEVELS:
            begin, end_ = f"\n\n{'#' * _LEVELS[word]} ", "\n\n"
        if self._text[place : place + 1] == "[":
            stop = self._text.find("]", place, place + 500)
            place = stop + 1 if stop > 0 else place
        if self._text[place : place + 1] == "{" and begin:
            self._add(begin)
            self._pending = end_
        return place

    def _add_mark(self, place: int) -> int:
        given = _MARK.match(self._text, place)
        self._note = int(given[1]) if given else self._note + 1
        self._add(f"<sup>{self._note}</sup>")
        return given.end() if given else place

    def _set_counter(self, place: int) -> int:
        counter = _COUNTER.match(self._text, place)
        if counter and self._lists:
            self._lists[-1].number = int(counter[1])
            self._add("\n")
        _, place = self.argument(place)
        return self.argument(place)[1]

    def _add_item(self, place: int) -> int:
        indent = "    " * min(len(self._lists) - 1, 20)
        mark, number = "-", ""
        if self._lists and (held := self._lists[-1]).name == "enumerate":
            held.number += 1
            if held.form:
                shown = f"{held.before}{written_number(held.number, held.form)}{held.after}"
                number = f"{_escaped(shown.strip())} "
            else:
                mark = f"{held.number}{held.stop}"
        is_named = self._text[place : place + 1] == "["
        end = self._text.find("]", place, place + 200) if is_named else -1
        term = f"**{_escaped(self._text[place + 1 : end])}:**" if end > 0 else ""
        self._add(f"\n{indent}{mark} {number}{term}")
        return end + 1 if end > 0 else place

    def _add_verbatim(self, place: int) -> int:
        mark = self._text[place : place + 1]
        end = self._text.find(mark, place + 1, place + 500) if mark else -1
        if end < 0:
            return place
        self._add(f"`{self._text[place + 1 : end]}`")
        return end + 1


_MARKUPS: Mapping[str, tuple[str, Callable[[str], Iterator[str]]]] = {
    ".org": ("text/x-org", org_as_markdown),
    ".tex": ("text/x-tex", latex_as_markdown),
    ".adoc": ("text/asciidoc", asciidoc_as_markdown),
    ".asciidoc": ("text/asciidoc", asciidoc_as_markdown),
}
