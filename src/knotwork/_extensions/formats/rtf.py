"""Load Rich Text Format: headings by style, lists, tables, notes, in any code page."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass, replace

from knotwork._extensions.formats.office_markup import write_apart
from knotwork._indexing.loaders.blocks import BULLET, BlockWriter
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source, flat_metadata
from knotwork._indexing.loaders.titles_and_captions import run_in_term

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<value>-?\d{1,10})?[ ]?"
    rb"|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])|(?P<brace>[{}])"
    rb"|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\"
)
_CHARACTERS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ",
    "nestcell": "\t", "nestrow": "\n",
}  # fmt: skip
_SYMBOLS = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}
_ENDS = frozenset({"par", "page", "sect", "row", "cell"})
_UNSEEN = {
    *("colortbl", "header", "footer", "headerl", "headerr", "headerf", "footerl", "footerr"),
    *("footerf", "themedata", "datastore", "xe", "tc", "rxe", "pntxta", "pntxtb"),
    *("filetbl", "listtable", "revtbl", "objdata", "nonesttables", "nonshppict"),
}
"""Groups without text of the document."""
_INFORMATION = ("title", "author", "subject", "keywords")
_NAMED = {*_INFORMATION, "fonttbl", "stylesheet", "info", "pict"}
_CODE_PAGES = {
    77: "mac-roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250",
}  # fmt: skip
"""Encodings by the character set of a font."""
_HEADING = re.compile(r"(?:heading|überschrift|titre|标题)\s*([1-9])", re.IGNORECASE)
_CHINESE = 936
"""The code page of Windows for Chinese."""
_TEXTS = ("body", "footnote", "mark")
_PLACES = {"footnote": "footnote", "listtext": "mark", "pntext": "mark"}
_OF_GROUP = {"b": "bold", "uc": "skipped"}
_NOT_SHOWN = frozenset({"v", "deleted", "strike", "striked"})
_LEAST_LIFT = 4
"""Half points by which a note or power is raised."""
_RAISED = {"super": "superscript", "up": "superscript", "sub": "subscript", "dn": "subscript"}
_OF_PARAGRAPH = {"s": "style", "outlinelevel": "outline", "intbl": "in_table", "ilvl": "level"}


class RtfLoader(FormatLoader, name="rtf"):
    """Reads .rtf; pictures, headers and footers are left out."""

    def load(self, source: Source) -> Content:
        writer = BlockWriter(source)
        metadata = _Reader(writer, source).read()
        title = metadata.pop("title", "")
        return writer.content("application/rtf", title=title, metadata=flat_metadata(metadata))


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds for the text of a group. ``place`` is where it is written, "" for nowhere."""

    place: str = "body"
    bold: int = 0
    raised: str = ""  # as `write_apart` names it
    unseen: frozenset[str] = frozenset()  # words of `_NOT_SHOWN` that hold
    skipped: int = 1  # characters after one that is written as its number
    encoding: str = "cp1252"


@dataclass(slots=True)
class _Paragraph:
    """The properties of a paragraph, until they are reset."""

    style: int = -1
    outline: int = -1
    in_table: int = 0
    level: int = 0


class _Reader:
    def __init__(self, writer: BlockWriter, source: Source) -> None:
        self._writer = writer
        self._source = source
        self._data = source.data.removeprefix(BOM_UTF8)
        self._group = _Group()
        self._around: list[_Group] = []
        self._paragraph = _Paragraph()
        self._bytes = bytearray()
        self._held: dict[str, list[tuple[str, bool, str]]] = {}
        self._encodings: dict[int, str] = {}
        self._levels: dict[int, int] = {}
        self._default = "cp1252"
        self._skipped = 0
        self._number = 0  # of the font or style that is defined
        self._notes: list[str] = []
        self._note_count = 0
        self._row: list[str] = []
        self._rows: list[list[str]] = []

    def read(self) -> dict[str, str]:
        """Append the blocks of the file, and return its metadata."""
        place = 0
        is_starred = False
        while (token := _TOKEN.match(self._data, place)) is not None:
            place = token.end()
            kind = token.lastgroup
            if kind in ("text", "byte"):
                self._add_bytes(token["text"] or bytes.fromhex(token["byte"].decode()))
                continue
            self._flush()
            if kind == "brace":
                self._skipped = 0
                self._open_or_close(token["brace"])
            elif kind == "symbol":
                symbol = token["symbol"].decode("latin-1")
                self._add(_SYMBOLS.get(symbol, ""))
                if symbol in "\r\n":
                    self._end("par")
            elif kind in ("word", "value"):
                word, value = token["word"].decode(), int(token["value"] or b"1")
                if word == "bin":
                    place += max(0, value)
                elif word == "u":
                    self._add(chr(value % 0x10000))
                    self._skipped = self._group.skipped
                else:
                    self._control(word, value, is_starred=is_starred)
            is_starred = token[0] == b"\\*"
        self._flush()
        self._group, self._paragraph = _Group(), _Paragraph()
        self._rows += filter(None, [self._row])
        self._row = []
        self._end("par")
        return {name: self._take(name)[0] for name in _INFORMATION if name in self._held}

    def _add_bytes(self, data: bytes) -> None:
        """Hold bytes until the next control word, without those that stand for a number."""
        self._bytes += data[self._skipped :]
        self._skipped = max(0, self._skipped - len(data))

    def _open_or_close(self, brace: bytes) -> None:
        if brace == b"{":
            self._around.append(self._group)
            return
        closed, self._group = self._group, self._around.pop() if self._around else _Group()
        if closed.place == "footnote" != self._group.place:
            note, _ = self._take("footnote")
            if self._group.unseen:
                return
            self._note_count += 1
            self._group, around = replace(self._group, raised=""), self._group
            self._add(f" [^{self._note_count}]")
            self._group = around
            self._notes.append(f"[^{self._note_count}] {note.strip()}")

    def _control(self, word: str, value: int, *, is_starred: bool) -> None:
        group = self._group
        if word in _UNSEEN or word in _NAMED or is_starred:
            self._begin_group(word, is_starred=is_starred)
        elif group.place in ("stylesheet", "fonttbl"):
            self._define(word, value)
        elif word in _PLACES:
            self._group = replace(group, place=_PLACES[word] if group.place else "")
        elif word in _ENDS:
            self._end(word)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word in _OF_GROUP:
            self._group = replace(group, **{_OF_GROUP[word]: max(0, value)})  # type: ignore[arg-type]
        elif word in _NOT_SHOWN:
            others = group.unseen - {word}
            self._group = replace(group, unseen=others | {word} if value else others)
        elif word in _RAISED or word == "nosupersub":
            is_level = value < (_LEAST_LIFT if word in ("up", "dn") else 1)
            self._group = replace(group, raised="" if is_level else _RAISED.get(word, ""))
        elif word in _OF_PARAGRAPH:
            setattr(self._paragraph, _OF_PARAGRAPH[word], value)
        else:
            self._reset(word, value)

    def _reset(self, word: str, value: int) -> None:
        if word == "pard" and self._group.place == "body":
            self._paragraph = _Paragraph()
        if word in ("ansicpg", "mac"):
            self._default = "mac-roman" if word == "mac" else _encoding(value)
        if word in ("ansicpg", "mac", "plain", "f"):
            known = self._encodings if word == "f" else {}
            encoding = known.get(value, self._default)
            self._group = replace(self._group, encoding=encoding)
        if word == "plain":
            self._group = replace(self._group, bold=0, raised="", unseen=frozenset())

    def _begin_group(self, word: str, *, is_starred: bool) -> None:
        """Say where the text of a group is written that begins with this word."""
        group = self._group
        if word == "pict" and group.place in _TEXTS:
            self._source.left_out["picture"] += 1
        is_kept = is_starred and word in ("shppict", "shpinst", "shprslt")
        if group.place and not is_kept:
            place = word if word in _NAMED and word != "pict" else ""
            self._group = replace(group, place=place)

    def _define(self, word: str, value: int) -> None:
        """Read the number of a style or a font, or the encoding of a font."""
        if word == ("s" if self._group.place == "stylesheet" else "f"):
            self._number = value
        elif word == "fcharset" and value in _CODE_PAGES:
            self._encodings[self._number] = _CODE_PAGES[value]

    def _flush(self) -> None:
        """Add the bytes since the last control word."""
        if self._bytes:
            if self._group.place:
                self._add(self._bytes.decode(self._group.encoding, "replace"))
            self._bytes.clear()

    def _add(self, text: str) -> None:
        place = self._group.place
        if place == "stylesheet":
            if found := _HEADING.match(text.strip()):
                self._levels[self._number] = int(found[1])
            elif text.strip("; ").lower() == "title":
                self._levels[self._number] = 1
        elif text and place and not self._group.unseen:
            run = text, self._group.bold > 0, self._group.raised
            self._held.setdefault(place, []).append(run)

    def _take(self, place: str) -> tuple[str, list[tuple[str, bool]]]:
        """Return the text at a place, and its runs, and forget it."""
        runs = self._held.pop(place, [])
        texts = write_apart([(text, raised) for text, _, raised in runs])
        text = "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text, [(text, bold) for text, (_, bold, _) in zip(texts, runs, strict=True)]

    def _end(self, word: str) -> None:
        """End a paragraph, a cell or a row."""
        if self._group.place == "footnote":
            self._add("\n")
        if self._group.place != "body" or (word == "par" and "deleted" in self._group.unseen):
            return
        if word == "row":
            self._rows.append(self._row)
            self._row = []
        elif word == "cell":
            mark, text = self._take("mark")[0].strip(), self._take("body")[0].strip()
            self._row.append(f"{mark} {text}".strip())
        elif self._paragraph.in_table or self._row:
            self._add("\n")
        else:
            self._end_table()
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        mark = self._take("mark")[0].strip()
        text, runs = self._take("body")
        paragraph = self._paragraph
        level = paragraph.outline + 1
        if not 0 < level < 10:
            level = self._levels.get(paragraph.style, 0)
        if not text.strip():
            self._writer.paragraph(text)
        elif level:
            self._writer.heading(level, f"{mark} {text}")
        elif mark:
            shown = mark if re.search(r"\d|\w\W", mark) else BULLET
            self._writer.item(text.strip(), level=paragraph.level, mark=shown)
        else:
            self._writer.paragraph(text, term=run_in_term(runs))
        self._add_notes()

    def _end_table(self) -> None:
        if self._rows:
            self._writer.table(self._rows)
            self._rows = []
            self._add_notes()

    def _add_notes(self) -> None:
        for note in self._notes:
            self._writer.paragraph(note)
        self._notes = []


def _encoding(page: int) -> str:
    """Return the encoding of a code page of Windows."""
    name = "gb18030" if page == _CHINESE else f"cp{page}"
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name
