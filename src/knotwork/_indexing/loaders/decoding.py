"""Decode text files of unknown encoding."""

from __future__ import annotations

import codecs
import re

from knotwork._indexing.loaders.encoded_data import without_encoded_data
from knotwork._indexing.loaders.loader import Source, clean_text
from knotwork._text.languages import WESTERN_LANGUAGES, detect_language
from knotwork.errors import LoadError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 200_000
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HAN = re.compile("[\u3400-\u9fff]")
# The most frequent characters of written Chinese, simplified and traditional: a third of any text.
_COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家"
    "種多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意無方成事把三此法最重高"
    "這個們來為國說時會對過發後裡經麼學現當沒動還進樣開從實與於電長問業產務員關機數據公司工作管理信息"
)


def decode_text(source: Source, *, declared: str = "") -> str:
    """Return the text of a file, cleaned by `clean_text`.

    Tries in turn: a byte order mark, the ``declared`` encoding, UTF-16 without a mark, UTF-8, the
    Chinese encodings, Windows-1252 and the guess of charset-normalizer.

    Raises LoadError if the file is not text ("binary") or its encoding is unknown ("encoding").
    """
    data = source.data
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _checked(source, data.decode(encoding, "replace"))
    for encoding in filter(None, (declared, _utf16_without_mark(data))):
        text = _try_decode(data, encoding)
        if text is not None:
            return _checked(source, text)
    text = _utf_8(data)
    if text is not None:
        return _checked(source, text)
    if data.count(0) > len(data) // 100:
        raise _binary(source)
    text = _chinese(data) or _guess(data)
    if text is None:
        raise LoadError(
            "encoding",
            f"The encoding of `{source.uri}` is unknown.",
            fix="Save it as UTF-8.",
        )
    return _checked(source, text)


def _checked(source: Source, text: str) -> str:
    """Return clean text without encoded data.

    Raises LoadError ("binary") if it is full of control characters.
    """
    sample = text[:_SAMPLE_BYTES]
    odd = len(_CONTROL.findall(sample)) + sample.count("\ufffd") + sample.count("\x00")
    if odd > max(2, len(sample) // 10):
        raise _binary(source)
    return without_encoded_data(clean_text(text), source.left_out)


def _binary(source: Source) -> LoadError:
    return LoadError(
        "binary",
        f"`{source.uri}` contains binary data, not text.",
        fix="Leave it out with `exclude`, or convert it to a document format.",
    )


def _try_decode(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (LookupError, ValueError):  # UnicodeDecodeError is a ValueError
        return None


def _utf_8(data: bytes) -> str | None:
    """Decode UTF-8, tolerating a cut-off last character and a few invalid bytes among many."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
    text = data.decode("utf-8", "replace")
    stray = text.count("\ufffd")
    proper = len(re.findall(r"[^\x00-\x7f\ufffd]", text))
    return text if proper > 20 * stray else None


def _utf16_without_mark(data: bytes) -> str:
    """Return the variant of UTF-16 if nearly all zero bytes are on one side of the pairs, or ""."""
    sample = data[:_SAMPLE_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if len(data) % 2 or 5 * max(even, odd) < len(sample) or 50 * min(even, odd) > len(sample):
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _chinese(data: bytes) -> str | None:
    """Decode as GB 18030 or Big5, whichever yields more common characters; None if neither fits."""
    best, best_share = None, 0.15
    for encoding in ("gb18030", "big5hkscs"):
        text = _try_decode(data, encoding) or _try_decode(data[:-1], encoding)
        if text is None:
            continue
        han = _HAN.findall(text[:_SAMPLE_BYTES])
        share = sum(character in _COMMON_HAN for character in han) / max(1, len(han))
        # Some letters of Western encodings decode to a rare Han character.
        if share > best_share and 2 * len(han) > len(
            re.findall(r"[a-zA-Z]{2,}", text[:_SAMPLE_BYTES])
        ):
            best, best_share = text, share
    return best


def _guess(data: bytes) -> str | None:
    """Decode one of the many single-byte encodings, which differ in a few letters only.

    Western encodings come first: if the result has the frequent words of a Western language, no
    other encoding can be right.
    """
    from charset_normalizer import from_bytes

    western = _try_decode(data, "cp1252") or _try_decode(data, "latin-1")
    if western is not None and detect_language(western) in WESTERN_LANGUAGES:
        return western
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    if best is None:
        return None
    return _try_decode(data, best.encoding) or data.decode(best.encoding, "replace")
