"""Recognize captions, terms, box titles and font styles, and choose a document's title.

The path of a document may say more than its text: its name and its folder are read as words. Names
that cameras, scanners and programs give, such as "IMG_2041", "scan0001" or "a", say nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

from knotwork._indexing.loaders.loader import Content
from knotwork._text.languages import HAN_AND_KANA
from knotwork._text.names import STOP_NAMES
from knotwork._text.visible import visible_text
from knotwork._transform.rules.aboutness import read_title
from knotwork._transform.rules.lexicon import common_words, given_names
from knotwork.records import BlockKind

_JOINT = re.compile(r"_+|(?<!\+)\+(?!\+)|(?<!\d)-+|-+(?!\d)|(?<!\d)\.+(?!\s)|\.+(?![\d\s])")
_JOINED_WORDS = re.compile(r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+\d*")
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z\d])")
_FILE_TYPE = re.compile(r"\.[A-Za-z][A-Za-z\d]{0,7}$")
_ADDED_ID = re.compile(r"(?<=\S)[ _-]+[\da-f]{32}(?:_all)?(?=/?$)")
"""What Notion adds to the names of the files and folders that it exports."""
_CODE_NAME = re.compile(
    r"(?<!\w)(?:[A-Z][A-Za-z]{0,3}(?:\+\+|#)|[A-Z]{1,4}\d{1,3}-\d{2,4}"
    r"|(?:Q[1-4]|H[12]|FY) ?\d{2,4})(?!\w)"
)
"""The name of a language, a device or a part of a year: "C++", "S7-1200", "Q3 2025"."""
_ONE_OF_MANY = re.compile(r"[^\W\d_]{3,} \d{1,4}[A-Za-z]?")
_SAYS_NOTHING = frozenset(
    re.findall(
        r"\w+",
        "final draft copy rev documents desktop folder folders archive whatsapp video audio voice "
        "version file files doc docs img dsc dscn "
        "dscf pxl vid mov photo "
        "picture scan scanned screenshot screen shot download downloads upload uploads "
        "export output data temp "
        "tmp unnamed default info status todo profile content contents assets src inbox "
        "attachment attachments kopie entwurf bild foto scan dokument notiz notizen kontakt "
        "anhang brouillon copie 联系方式 资料 截图 扫描件 扫描 照片 图片 副本 最终版 草稿 笔记",
    )
)
_WHOLE_FOLDER = frozenset({"index", "main", "readme", "default", "home"})


def readable_name(file_name: str) -> str:
    """Return a file name without its suffix, with spaces between its words."""
    stem = visible_text(unquote(file_name))
    stem = _ADDED_ID.sub("", _FILE_TYPE.sub("", stem) or stem)
    if _JOINED_WORDS.fullmatch(stem):
        stem = _BETWEEN_WORDS.sub(" ", stem)
    return " ".join(_JOINT.sub(" ", stem).split()) or file_name


def names_in_path(uri: str) -> tuple[str, str]:
    """Return the name of a document and the nearest folder that says something, or "".

    The folder that was indexed counts only for a name that says nothing: all others are inside it.
    """
    scheme, _, rest = uri.rpartition("://")
    parts = re.split(r"[/\\]+", rest.partition("?")[0].partition("#")[0] if scheme else rest)
    name = readable_name(parts[-1]) if parts[-1] else ""
    is_clear = is_telling(name)
    for part in reversed(parts[1:-1] if is_clear or scheme else parts[:-1]):
        folder = readable_name(part + "/").rstrip("/ ")
        if is_telling(folder) and (not is_clear or is_own_name(folder)):
            return name, folder
    return name, ""


def is_telling(name: str) -> bool:
    """Return True if a name has a word that distinguishes a document."""
    return any(_telling_words(name))


def is_general(title: str) -> bool:
    """Return True for a title that many documents have, such as "Status" or "Contact"."""
    return title.casefold() in _SAYS_NOTHING or read_title(title, longest_words=8) is None


def adds_to(name: str, text: str) -> bool:
    """Return True if a word of the name is not in a text, which is in lower case."""
    return any(word.casefold() not in text for word in _telling_words(name))


def is_given(uri: str) -> bool:
    """Return True if a person wrote the name: with spaces, or with the capitals of names."""
    name = unquote(re.split(r"[/\\]", uri)[-1])
    return is_telling(readable_name(name)) and (" " in name or is_own_name(readable_name(name)))


def has_rare_word(name: str) -> bool:
    """Return True if a word of the name is not among common English words."""
    return any(word.lower() not in common_words() for word in _telling_words(name))


def stands_for_folder(name: str) -> bool:
    """Return True for the name of a file that is about its folder, such as "README" or "n1"."""
    return name.casefold() in _WHOLE_FOLDER or not re.search(r"[^\W\d_]{2}", name)


def is_own_name(name: str) -> bool:
    """Return True if the name is like that of a person, a client or a project."""
    words = _telling_words(name)
    return (
        not name.isascii()
        or (_ONE_OF_MANY.fullmatch(name) is not None and bool(words))
        or (len(words) > 1 and words[0].lower() in given_names())
        or any(word[0].isupper() and word.lower() not in common_words() for word in words)
    )


def _telling_words(name: str) -> list[str]:
    words = re.findall(rf"[{HAN_AND_KANA}]+|[^\W_{HAN_AND_KANA}]+", name)
    return _CODE_NAME.findall(name) + [
        word
        for word in words
        if len(word) > (2 if word.isascii() else 1)
        and all(unicodedata.category(c)[0] in "LM" for c in word)
        and word.casefold() not in _SAYS_NOTHING
        and word.casefold() not in STOP_NAMES
        and read_title(word, longest_words=8) is not None
    ]


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
    r"(?:untitled.*|\(?(?:anonymous|unknown|no title)\)?"
    r"|microsoft (?:word|powerpoint|excel).*|document ?\d*|powerpoint presentation"
    r"|slide ?\d*|presentation ?\d*|title|.*\.(?:docx?|pptx?|xlsx?|pdf|dvi|tex|indd|qxd)"
    r"|新建.*|未命名.*|演示文稿\d*|文档\d*)",
    re.IGNORECASE,
)


_MAX_ALIASES = 5


def choose_title(content: Content, uri: str) -> str:
    """Return the title in the metadata, else the top heading, the first line or the file name.

    A name that reads as words is the title before a lower heading, a general one ("Status"), and a
    first line that may be text. What the name, the folder and the aliases of a note say beyond its
    text follows the title in brackets.
    """
    name, folder = names_in_path(uri)
    others = [part for part in (folder, *_aliases(content)) if is_telling(part)]
    title = _title_inside(content, name, uri, is_named=is_telling(name) or bool(others))
    text = f"{title}\n{content.text[:_NAMES_ARE_IN]}".casefold()
    added: list[str] = []
    # A slug ("runtime-config-client") beside a title only repeats it in other words.
    is_marked = content.media_type not in _WITHOUT_HEADINGS and _top_heading(content)[0]
    has_own = bool(_own_title(content) or is_marked)
    is_said = is_given(uri) or is_general(title) or (not has_own and has_rare_word(name))
    if folder in others and not (is_own_name(folder) or is_general(title) or title == name):
        others.remove(folder)
    for part in (name if is_said else "", *others):
        if len(part) <= MAX_DOCUMENT_TITLE_LENGTH and adds_to(part, text):
            added.append(part)
            text += f"\n{part.casefold()}"
    if added and (is_general(title) or (title == name and not is_telling(name))):
        first = added.pop(0)
        added = [title, *added] if title and not stands_for_folder(title) else added
        title = first
    return f"{title} ({', '.join(added)})" if added else title


_WITHOUT_HEADINGS = frozenset({"text/plain", "application/pdf"})
"""Types of files whose headings are guessed by their looks."""
_NAMES_ARE_IN = 100_000
"""Characters at the beginning of a text that may repeat the words of its name."""


def _title_inside(content: Content, name: str, uri: str, *, is_named: bool) -> str:
    """Return the title in a document, or its name if that is the better one."""
    if title := _own_title(content):
        return title
    heading, level = _top_heading(content)
    if heading and (
        not adds_to(name, heading.casefold()) or (level == 1 and not is_general(heading))
    ):
        return heading
    match = _FIRST_LINE.match(content.text)
    line = match[1].strip() if match else ""
    if match and not heading and _may_be_document_title(line, content.text[match.end() :]):
        lacks_name = adds_to(name, line.casefold())
        is_field = " " not in name and item_term(line).casefold() == name.casefold()
        has_name = is_telling(name) and not (lacks_name or is_field)
        is_key = is_named and bool(item_term(line)) and not has_name
        if not (is_key or (is_given(uri) and lacks_name)):
            return line
    return _title_in_path(content.metadata.get("permalink", "")) or name or readable_name(uri)


def _own_title(content: Content) -> str:
    title = content.title.strip()
    is_title = len(title) <= 2 * MAX_DOCUMENT_TITLE_LENGTH and not _NO_TITLE.fullmatch(title)
    return title if is_title else ""


def _aliases(content: Content) -> list[str]:
    listed = next(
        (content.metadata[key] for key in ("aliases", "alias") if key in content.metadata), ""
    )
    return [alias for part in listed.split(",") if (alias := part.strip())][:_MAX_ALIASES]


def _title_in_path(permalink: str) -> str:
    """Return the last part of a path if it is a title rather than a file name, or ""."""
    last = permalink.rstrip("/").rpartition("/")[2].strip()
    is_title = " " in last or not last.isascii()
    return last if is_title and len(last) <= MAX_DOCUMENT_TITLE_LENGTH else ""


def _top_heading(content: Content) -> tuple[str, int]:
    """Return the first heading and its level, or ("", 0).

    It counts if the text begins with it, or if it is above all others.
    """
    sections = [block for block in content.blocks if block.kind is BlockKind.SECTION]
    if not sections:
        return "", 0
    top = sections[0]
    first = not content.text[: top.span.start].strip()
    alone = all(section.level > top.level for section in sections[1:])
    near = top.span.start <= 2_000
    is_top = (first or (alone and near)) and len(top.label) <= MAX_DOCUMENT_TITLE_LENGTH
    return (top.label, top.level) if is_top else ("", 0)


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
