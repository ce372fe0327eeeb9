"""Read what the path of a document says: its name and its folder, as words.

Names that cameras, scanners and programs give, such as "IMG_2041", "scan0001" or "a", say nothing.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

from knotwork._text.chinese import HAN_AND_KANA
from knotwork._text.names import STOP_NAMES
from knotwork._text.visible import visible_text
from knotwork._transform.rules.aboutness import read_title
from knotwork._transform.rules.lexicon import common_words, given_names

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
        "picture scan scanned screenshot screen shot download downloads export output data temp "
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
