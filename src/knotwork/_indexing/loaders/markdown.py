"""Load Markdown: write its blocks, and read front matter as metadata.

Front matter is YAML between lines of ``---``, or TOML between lines of ``+++``.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    flat_metadata,
    text_leaves,
    unread_parts,
)
from knotwork._indexing.loaders.titles_and_captions import (
    is_empty_description,
    is_title_like,
    item_term,
    run_in_term,
)
from knotwork._registry import PARTS
from knotwork._text.languages import HAN_AND_KANA
from knotwork._text.sentences import join_wrapped, wrapping_width
from knotwork.records import BlockKind, TextStyle

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


class MarkdownLoader(FormatLoader, name="markdown"):
    """Reads Markdown: CommonMark, extended by tables and definition lists."""

    def load(self, source: Source) -> Content:
        text, metadata = read_front_matter(decode_text(source), uri=source.uri)
        writer = BlockWriter(source)
        add_markdown(writer, text)
        known = text.casefold()
        listed = next((metadata[key] for key in ("tags", "tag", "keywords") if key in metadata), "")
        tags = [tag for part in listed.split(",") if (tag := part.strip())]
        if any(tag.casefold() not in known for tag in tags):
            writer.paragraph(f"Tags: {', '.join(tags)}")
        title = pop_title(metadata)
        if not title and not text.lstrip().startswith("# "):
            title = metadata.get("name", "")
        return writer.content("text/markdown", title=title, metadata=metadata)


def add_markdown(writer: BlockWriter, text: str) -> None:
    """Append the blocks of a Markdown text; each note is below the text with its mark."""
    _Walk(writer, _DATA.sub("#", text) if "data:" in text else text).walk()


_CONTAINERS = {
    "blockquote_open": BlockKind.QUOTE,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.ITEM,
}
_ENDS_TEXT = ("paragraph_close", "heading_close", "table_close")
_SPECIAL = re.compile(r"[\\`*_~^\[\]<&!{\n]")
_DATA = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.-]{1,60}){0,4},[\w+/=%.-]{40,}")
"""A file inside a link."""
_RAISED = re.compile(r"(?<=\w)\^([\w+−-]{1,12})\^(?!\w)|(?<=[A-Za-z)])~([\d+−-]{1,4}|[a-z]{1,3})~")
"""Raised and lowered text as Pandoc marks it."""
_ANCHOR = re.compile(r"[ \t]*\{#([^\s}]+)[^}]*\}")
_RAW_TAG = re.compile(r"<\w+\s[^>]*?(?<=\s)(href|id|name)\s*=\s*[\"']?([^\s\"'>]+)", re.IGNORECASE)
_UNREAD_MARKS = re.compile(
    r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*"
    r"|(?<![*\w])\*(?=\S)([^*\n]+[，。、：；！？”’）》])\*(?=\w)"
    rf"|(?<![A-Za-z0-9_])_(?=[{HAN_AND_KANA}])([^_\n]+)_(?![A-Za-z0-9_])"
)
"""Marks of emphasis beside Chinese: CommonMark wants a space there, which nobody writes."""
_DEFINES = re.compile(r"\n:[ \t]+(?=\S)")
_BREAKS = {
    "hardbreak": ("\n\n", "\n\n"),
    "softbreak": ("\n", "\n"),
    "s_open": ("", "<s>"),
    "s_close": ("", "</s>"),
}
_BREAK = re.compile(r"<br\b", re.IGNORECASE)
_STYLES = {"strong": TextStyle.STRONG, "em": TextStyle.EMPHASIS, "code": TextStyle.CODE}
"""Styles by the names of tokens before their underscore."""
_MOST_BEFORE = 20
"""Parts of a line before words by which these are found again."""


class _Walk:
    def __init__(self, writer: BlockWriter, text: str) -> None:
        self._writer = writer
        self._width = wrapping_width(text)
        self._parser = _make_parser()
        self._references: dict[str, Any] = {}
        self._tokens = self._parser.parse(text, self._references)
        self._notes: dict[str, list[Token]] = {}
        self._marks: list[str] = []  # of notes that are still to be written
        self._mark = ""  # that of the note that begins with the next text
        self._is_in_note = False
        self._open: list[OpenBlock] = []
        self._rows: list[list[str]] = []
        self._terms: list[str] = []
        self._is_defined = False

    def walk(self) -> None:
        tokens: list[Token] = []
        into = tokens
        for token in self._tokens:
            if token.type == "footnote_reference_open":
                into = self._notes.setdefault(token.meta["label"], [])
            elif token.type == "footnote_reference_close":
                into = tokens
            else:
                into.append(token)
        self._add(tokens)
        self._marks += self._notes
        self._add_notes()

    def _add_notes(self) -> None:
        """Append the notes whose marks were read, once each."""
        self._is_in_note = True
        for mark in self._marks:  # to which those of notes on notes are added
            note = self._notes.pop(mark, ())
            self._mark = f"[^{mark}] " if note else ""
            self._add(note)
            self._mark = ""
        self._marks.clear()
        self._is_in_note = False

    def _add(self, tokens: Sequence[Token]) -> None:
        before: Token | None = None
        for token in tokens:
            if token.type in _CONTAINERS:
                is_ordered = token.type == "ordered_list_open"
                number = int(token.attrs.get("start", 1)) if is_ordered else -1
                self._open.append(self._writer.begin(_CONTAINERS[token.type], number=number))
            elif token.type.replace("_close", "_open") in _CONTAINERS:
                self._writer.end(self._open.pop())
            elif token.type in ("fence", "code_block"):
                self._writer.code(token.content, token.info.strip().partition(" ")[0])
            elif token.type == "html_block":
                PARTS.load("add_html")(self._writer, token.content)
            elif token.type == "dd_open":
                begun = self._writer.begin_definition(self._terms, is_further=self._is_defined)
                self._open.append(begun)
            elif token.type == "dd_close":
                self._writer.end(self._open.pop())
                self._is_defined = True
            elif token.type == "inline" and before is not None:
                self._add_inline(token.content, before)
            else:
                self._read_table(token)
            if token.type in _ENDS_TEXT and not self._is_in_note:
                self._add_notes()
            before = token

    def _read_table(self, token: Token) -> None:
        if token.type == "table_open":
            self._rows = []
        elif token.type == "tr_open":
            self._rows.append([])
        elif token.type == "table_close":
            self._writer.table(self._rows, header=any(self._rows[0]))

    def _add_inline(self, markup: str, opened: Token) -> None:
        if opened.type in ("th_open", "td_open"):
            self._rows[-1].append(self._read(markup)[0])
        elif opened.type == "dt_open":
            self._terms, self._is_defined = [self._read(markup)[0]], False
        elif opened.type == "heading_open":
            title = self._read(markup)[0]
            for mark in self._marks:
                title = title.removesuffix(f" [^{mark}]")
            self._writer.heading(int(opened.tag[1:]), title)
        else:
            self._add_paragraph(markup)

    def _add_paragraph(self, markup: str) -> None:
        above, *definitions = _DEFINES.split(markup)
        if definitions and all(map(is_title_like, above.split("\n"))):  # of several terms
            terms = [self._read(term)[0] for term in above.split("\n")]
            for number, definition in enumerate(definitions):
                opened = self._writer.begin_definition(terms, is_further=number > 0)
                self._add_paragraph(definition)
                self._writer.end(opened)
            return
        lines = markup.split("\n")
        found = _entries([line.replace("**", "") for line in lines])
        texts = [self._read(line)[0] for line in lines[found]]
        if len({item_term(text) for text in texts}) > 1:
            self._add_paragraph("\n".join(lines[: found.start]))
            self._writer.entries([(item_term(text), text) for text in texts])
            self._add_paragraph("\n".join(lines[found.stop :]))
            return
        text, runs = self._read(markup)
        if not text.strip():
            return
        self._writer.paragraph(text, term=run_in_term(runs) if runs and runs[0][1] else "")

    def _read(self, markup: str) -> tuple[str, Sequence[tuple[str, bool]]]:
        """Return inline Markdown as a reader sees it, and its parts, with True if one is bold."""
        mark, self._mark = self._mark, ""
        if not _SPECIAL.search(markup):
            return mark + markup, ()
        tokens: list[Token] = []
        self._parser.inline.parse(markup, self._parser, self._references, tokens)
        runs: list[tuple[str, bool]] = []
        written: list[str] = []  # as HTML
        bold = 0
        linked: tuple[str, int] | None = None
        opened: list[int] = []  # the parts at which styled words begin
        for token in tokens:
            raw = _RAW_TAG.match(token.content) if token.type == "html_inline" else None
            if token.type == "link_open":
                linked = str(token.attrs["href"]), len(runs)
            elif raw and raw[1].lower() == "href":
                linked = unescape(raw[2]), len(runs)
            elif raw:
                self._writer.anchor(raw[2])
            elif linked is not None and (token.type == "link_close" or token.content == "</a>"):
                words = "".join(part for part, _ in runs[linked[1] :])
                self._writer.link(words, linked[0])
                linked = None
            bold += (token.type == "strong_open") - (token.type == "strong_close")
            self._record_style(token, runs, opened)
            if token.type == "footnote_ref":
                self._marks.append(token.meta["label"])
            shown, html = _inline(token)
            runs += [(shown, bold > 0)] if shown else []
            written.append(html)
        shown = "".join(part for part, _ in runs)
        html = "".join(written)
        # All but plain text is read as a web page is.
        is_plain = html == escape(shown, quote=False)
        text = _ANCHOR.sub("", shown if is_plain else PARTS.load("inline_html_text")(html))
        for anchor in _ANCHOR.finditer(shown):
            self._writer.anchor(anchor[1])
        text = _UNREAD_MARKS.sub(lambda found: found[found.lastindex or 0], text).strip()
        parts = (join_wrapped(part, width=self._width) for part in text.split("\n\n"))
        return mark + "\n".join(filter(None, map(str.strip, parts))), runs

    def _record_style(
        self, token: Token, runs: Sequence[tuple[str, bool]], opened: list[int]
    ) -> None:
        """Record the words that end with a token behind the runs, if it sets them apart."""
        style = _STYLES.get(token.type.partition("_")[0])
        if style and token.nesting > 0:
            opened.append(len(runs))
        elif style:
            start = opened.pop() if token.nesting else len(runs)
            words = "".join(part for part, _ in runs[start:]) + token.content
            before = "".join(part for part, _ in runs[max(0, start - _MOST_BEFORE) : start])
            self._writer.style(words, style, after=before)


def _inline(token: Token) -> tuple[str, str]:
    """Return the plain text of a part of a line, and the part in HTML, in which it may be more."""
    if token.type in _BREAKS:
        return _BREAKS[token.type]
    if token.type == "html_inline":
        return _BREAKS["hardbreak"] if _BREAK.match(token.content) else ("", token.content)
    if token.type == "footnote_ref":
        return "", f'<a role="doc-noteref">{escape(token.meta["label"])}</a>'
    if token.type == "image" and is_empty_description(token.content):
        return "", ""
    html = escape(token.content, quote=False)
    if token.type == "text":
        html = _RAISED.sub(lambda m: f"<sup>{m[1]}</sup>" if m[1] else f"<sub>{m[2]}</sub>", html)
    return token.content, html


def _entries(lines: Sequence[str]) -> slice:
    """Return the first lines in a row, two or more, that have the form "term: text".

    Long ones end with a sentence: others are lines of wrapped prose, or of code.
    """
    start = 0
    for number, line in enumerate([*lines, ""]):
        is_short = len(line) <= _SHORT_LINE and not line.rstrip().endswith((",", "(", "[", "{"))
        is_whole = is_short or _SENTENCE_END.search(line)
        if not is_whole or not item_term(line):
            if number - start > 1:
                return slice(start, number)
            start = number + 1
    return slice(0, 0)


def _make_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.use(deflist_plugin).use(footnote_plugin).disable("footnote_inline")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.inline.ruler.before("image", "wikilink", _read_wikilink)
    return parser


_WIKILINK = re.compile(r"!?\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{0,300}))?\]\]")
_SIZE = re.compile(r"[\dx]+")


def _read_wikilink(state: StateInline, silent: bool) -> bool:
    """Read a link of Obsidian and Logseq, such as ``[[Note#Heading|text]]``."""
    found = _WIKILINK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        target, shown = found[1].strip(), (found[2] or "").strip()
        if not shown or _SIZE.fullmatch(shown):
            shown = target.replace("#^", "#").replace("#", " > ").removesuffix(".md")
        state.push("link_open", "a", 1).attrs = {"href": f"[[{target}]]"}
        state.push("text", "", 0).content = "" if is_empty_description(target) else shown
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


_log = logging.getLogger("knotwork.indexing")
_MAX_FRONT_MATTER = 20_000
_SHORT_LINE = 60
_SENTENCE_END = re.compile(r"[.!?。！？；][\"'”’)）*_]*\s*$")
_YAML = re.compile(
    rf"\A(?:---[ \t]*\n)?(.{{0,{_MAX_FRONT_MATTER}}}?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_TOML = re.compile(
    rf"\A\+\+\+[ \t]*\n(.{{0,{_MAX_FRONT_MATTER}}}?)(?<=\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL
)
_FIELD = re.compile(r"^([\w-]{1,40}):(?=\s|$)", re.MULTILINE)
_WIDE_FIELD = re.compile(r"^([\w-]{1,40})：[ \t\u3000]*(?![^\n]*[。！？]$)", re.MULTILINE)
"""A field with a Chinese colon; a line that ends with a stop is prose."""
_TITLE_NAMES = ("title", "标题", "標題")
_FIELD_NAME = re.compile(r"[\w-]{1,40}(?:\.[\w-]{1,40})*")


def pop_title(metadata: dict[str, str]) -> str:
    """Remove the title from the values of front matter, and return it; "" without a title."""
    name = next((name for name in metadata if name.casefold() in _TITLE_NAMES), "")
    return metadata.pop(name, "")


def read_front_matter(text: str, *, uri: str) -> tuple[str, dict[str, str]]:
    """Return a text without its front matter, and the front matter's values.

    The text stays unchanged if the front matter is invalid, or if nothing follows it. The line
    above the front matter may be missing.
    """
    match = _YAML.match(text) or _TOML.match(text)
    if match is None:
        return text, {}
    is_marked = text.startswith(("---", "+++"))
    values = _parse_front_matter(match.group(1), opened=text[:1], uri=uri)
    # Programs that save web pages drop the first line of the front matter.
    is_named = len(values or ()) > 1 and all(map(_FIELD_NAME.fullmatch, values or ()))
    if values is None or not (is_marked or is_named):
        return text, {}
    rest = text[match.end() :]
    return (rest if rest.strip() else text), values


def _parse_front_matter(block: str, *, opened: str, uri: str) -> dict[str, str] | None:
    """Return the values of front matter by dotted names, None if it is invalid.

    It is ``opened`` by "+" if it is TOML, by "-" if it is YAML, and may be YAML otherwise.
    """
    import yaml

    block = _WIDE_FIELD.sub(r"\1: ", block) if opened == "-" else block
    try:
        # The base loader keeps all values as strings, so that dates stay as they were written.
        values = (
            tomllib.loads(block) if opened == "+" else yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings only
        )
        return _flatten(values or {})
    except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        is_yaml = opened == "-" and isinstance(error, yaml.YAMLError)
        if is_yaml and (found := _read_fields(block)):
            return found
        _log.info("keeping the front matter of %s as text: %s", uri, error)
        return None


def _read_fields(block: str) -> dict[str, str]:
    """Return the values of front matter that is invalid YAML, each field read on its own.

    Returns {} if it does not begin with a field, or if too few lines are parts of fields.
    """
    import yaml

    first, *fields = _FIELD.split(block)
    found: dict[str, str] = {}
    unread = len(first.strip().splitlines())
    for name, value in zip(fields[::2], fields[1::2], strict=True):
        try:
            found |= _flatten(yaml.load(f"{name}: {value}", Loader=yaml.BaseLoader))  # noqa: S506
        except (yaml.YAMLError, RecursionError, ValueError):
            line, *further = value.strip().split("\n")
            parts = [part for part in further if part.startswith((" ", "\t", "-"))]
            unread += sum(1 for part in further if part.strip()) - len(parts)
            items = filter(None, map(_unquoted, (line, *parts)))
            found |= flat_metadata({name: ", ".join(items)})
    is_front_matter = not first.strip() and len(fields) // 2 > unread
    return found | unread_parts({"front matter line": unread}) if is_front_matter else {}


def _unquoted(value: str) -> str:
    text = value.strip().removeprefix("- ").strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def _flatten(values: object) -> dict[str, str]:
    """Return all values by dotted names, the items of a list joined by commas.

    Raises ValueError if the values are not a mapping, or if they expand to more than twice the
    maximal length of front matter: nested YAML aliases grow exponentially.
    """
    if not isinstance(values, Mapping):
        raise ValueError("it is not a mapping of names to values")  # noqa: TRY004 - of the file
    found: dict[str, list[str]] = {}
    size = 0
    for name, value in text_leaves(values, _scalar):
        size += len(name) + len(value)
        if size > 2 * _MAX_FRONT_MATTER:
            raise ValueError("its aliases expand to too many values")
        found.setdefault(name, []).append(value)
    return flat_metadata({name: ", ".join(filter(None, items)) for name, items in found.items()})


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date | time) else str(value)
