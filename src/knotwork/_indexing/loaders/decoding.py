"""Decode text files of unknown encoding, and leave out data that is written as text.

Such data are base64, hexadecimal dumps and the armour of PGP.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import pairwise

from knotwork._indexing.loaders.loader import Source, clean_text
from knotwork.errors import LoadError

_LEAST = 200
"""Shorter runs are keys, hashes and identifiers."""
_SAMPLE = 2_000
_CHANGES, _DIGITS = 0.35, 0.05
"""Least shares of base64; of chance, 0.65 and 0.16 are expected."""
_HEX_WORD = re.compile(r"\b(?:0x)?([0-9A-Fa-f]{2,8})\b")
_BASE64 = re.compile(
    # Addresses are left out in any case, so that they are not counted.
    r"(?P<address>(?:[=(]|url\()[\"']?+(?=data:))?+(?P<uri>data:[\w/+.;=-]{0,200}?;base64,)?+"
    r"(?<![A-Za-z0-9+/_-])"
    r"(?P<run>[A-Za-z0-9+/_-]{56,}+(?:(?:=?[\r\n]++|\\r|\\n)[ \t>]*+[A-Za-z0-9+/_-]{56,}+)*+)"
    r"(?P<tail>(?:(?:[\r\n]++|\\r|\\n)[ \t>]*+[A-Za-z0-9+/_-]{1,200}+(?![ \t]*+[^\s=\"'\\<)]))?+)"
    r"(?P<padding>={0,2})"
)
_ARMOUR = re.compile(
    r"-----BEGIN PGP SIGNED MESSAGE-----\n(?:[A-Z][\w-]*+:.*\n)*+\n?"
    r"|-----BEGIN PGP ([A-Z ]{3,30})-----\n[^-]*+(?:-(?!----)[^-]*+)*+-----END PGP \1-----\n?"
)
_HEX = re.compile(
    r"(?<![\w.])(?:0x)?[0-9A-Fa-f]{200,}+(?![\w.])"  # without spaces
    r"|(?<![\w.:])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}\b[:,;]?[ \t\r\n]*+){100,}+"
    # Lines of a dump with offsets, and with the characters at their ends.
    r"|(?:^[ \t]*+(?:0x)?[0-9A-Fa-f]{4,16}:?[ \t]++"
    r"(?:[0-9A-Fa-f]{2,8}[ \t\r\n|]++){4,16}.*\n?){8,}",
    re.MULTILINE,
)


def without_encoded_data(text: str, left_out: Counter[str]) -> str:
    """Return a text without encoded data, and count what is left out."""

    def cut_base64(found: re.Match[str]) -> str:
        run, tail = found["run"], found["tail"]
        is_sure = found["uri"] is not None
        if not is_sure and (len(run) < _LEAST or not _looks_encoded(run)):
            return found[0]
        if found["address"] is None:
            left_out["base64 block"] += 1
        ends = bool(found["padding"]) or is_sure or _is_rest(run, tail)
        return (found["address"] or "") + ("" if ends else tail)

    def cut_armour(found: re.Match[str]) -> str:
        left_out["encrypted text"] += found[1] == "MESSAGE"
        return ""

    def cut_hex(found: re.Match[str]) -> str:
        digits = "".join(_HEX_WORD.findall(found[0][:_SAMPLE])) or found[0]
        if not 0.1 < sum(map(str.isalpha, digits)) / len(digits) < 0.9:
            return found[0]
        left_out["hex dump"] += 1
        return "\n" if found[0].endswith("\n") else ""

    text = _ARMOUR.sub(cut_armour, text) if "-----BEGIN PGP" in text else text
    if len(text) < _LEAST:
        return text
    return _HEX.sub(cut_hex, _BASE64.sub(cut_base64, text))


def _looks_encoded(run: str) -> bool:
    """Return True if capitals, small letters and digits change as often as in base64.

    In names, paths and sequences of bases they do so seldom.
    """
    letters = filter(str.isalnum, run[:_SAMPLE])
    kinds = "".join("0" if c.isdigit() else "A" if c.isupper() else "a" for c in letters)
    changes = sum(a != b for a, b in pairwise(kinds))
    digits = kinds.count("0")
    return (
        changes > _CHANGES * len(kinds)
        and digits > _DIGITS * len(kinds)
        and min(kinds.count("A"), kinds.count("a")) > 0
    )


def _is_rest(run: str, tail: str) -> bool:
    """Return True if a short line ends a block without padding, which has four letters a unit."""
    letters = re.sub(r"\\[rn]|[\s=>]", "", run + tail)
    return len(letters) % 4 == 0 and re.search(r"[\d+/]", tail) is not None


_PLAIN = re.compile(r"[\t\r\n -~]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 200_000
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ALPHABETS = (
    ("cp1252 mac_roman cp850 cp437", "äöüß éèêëàâçîïôûùüœæÿ áéíóúñüªº ãáàâçéêíóôõú àèéìòù åäöøæé"),
    ("cp1252 mac_roman cp850 cp437", "áðéíóúýþæö ëïéèöüáóíú"),
    ("cp1250 iso8859_2 cp852", "ąćęłńóśźż áčďéěíňóřšťúůýž áéíóöőúüű čćđšž ăâîșțşţ"),
    ("cp1257", "ąčęėįšųūž āčēģīķļņšūž äöõüšž"),
    ("cp1254 cp857", "çğıöşüâî"),
    ("cp1255 iso8859_8", "אבגדהוזחטיךכלםמןנסעףפץצקרשת"),
    ("cp1253 iso8859_7", "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ"),
    (
        "cp1251 koi8_r koi8_u cp866 iso8859_5 mac_cyrillic",
        "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    ),
    (
        "cp1251 koi8_u iso8859_5 mac_cyrillic",
        "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя абвгдђежзијклљмнњопрстћуфхцчџш",
    ),
    ("cp1256 iso8859_6", "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأؤإئپچژگ،؛؟ًٌٍَُِّْ"),
    ("cp874", "กขฃคฅฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลฦวศษสหฬอฮฯะาำเแโใไๅๆฺัิีึืุู็่้๊๋์ํ๎"),
)
"""Single-byte encodings with the letters of languages that are written in them."""
_LATIN = 5
"""How many of them are Latin; their words have plain letters as well."""
_SYMBOLS = "\u00a0€£¥§°©®™«»“”„‘’‚–—…•·²³½¼±×№¡¿İ"
_GLUED = re.compile(
    r"(?<=[^\W\d_])[^\w\s\x00-\x7f’·\u0e31-\u0e4e](?=[^\W\d_])|(?<=[^\W\d_mnN])[²³§£¥±×°]|[£¥§°©®»](?=[^\W\d_]{2})"
    r"|[ςםןףץך](?=[^\W\d_])"
)
"""Symbols in words, and final letters within words: with another encoding, they are letters."""
_WORD = re.compile(r"[^\W\d_]+")
_THAI_VOWEL = re.compile(r"[\u0e30-\u0e4e]")
_ALONE = re.compile(r"(?<!\S)[^\W\d_](?!\S)")
_EAST_ASIAN = {
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5hkscs": ("big5", 0xA4, 0xC6),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
    "cp932": ("cp932", 0x88, 0x97),
    "cp949": ("euc_kr", 0xB0, 0xC8),
}
"""Encodings of two bytes a character, and the first bytes of their common characters."""
_SCRIPTS = ("gb18030", "big5hkscs", "euc_jp")
_HAN_WORD = re.compile(r"[\u4e00-\u9fff]{2,}")
_JAPANESE = ("euc_jp", "cp932")
_FEWEST_COMMON = 0.6
_SOFT_HYPHEN = re.compile(r"(?<=\w)\u00ad(?=\w|\s|\Z)")
_ALPHABET_BYTES = 20_000
_FEWEST_FITTING, _FEWEST_LETTERS = 0.95, 0.5


def decode_text(source: Source, *, declared: str = "") -> str:
    """Return the text of a file, cleaned by `clean_text`. Raises LoadError as `decode`."""
    return decode(source, declared=declared)[0]


def decode(source: Source, *, declared: str = "") -> tuple[str, str]:
    """Return the text of a file, cleaned by `clean_text`, and its encoding.

    Raises LoadError if the file is not text ("binary") or its encoding is unknown ("encoding").
    """
    data = source.data
    text, encoding = _decode(data, declared)
    if not encoding and data.count(0) > len(data) // 100:
        raise _binary(source)
    if not encoding:
        raise LoadError(
            "encoding",
            f"The encoding of `{source.uri}` is unknown.",
            fix="Save it as UTF-8.",
        )
    sample = text[:_SAMPLE_BYTES]
    odd = len(_CONTROL.findall(sample)) + sample.count("\ufffd") + sample.count("\x00")
    if odd > max(2, len(sample) // 10):
        raise _binary(source)
    return without_encoded_data(clean_text(text), source.left_out), encoding


def _decode(data: bytes, declared: str) -> tuple[str, str]:
    """Return the text of a file and its encoding, ("", "") if that is unknown.

    Tries in turn: a byte order mark, the ``declared`` encoding, UTF-16 without a mark, UTF-8, and
    the encodings of East Asia and of alphabets.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    japanese = "iso2022_jp" if b"\x1b$B" in data or b"\x1b$@" in data else ""
    for encoding in filter(None, (declared, _utf16_without_mark(data), japanese)):
        if (text := _try_decode(data, encoding)) is not None:
            return text, encoding
    if (text := _utf_8(data)) is not None:
        return text, "utf-8"
    if data.count(0) > len(data) // 100:
        return "", ""
    east_asian, is_sure = _east_asian(data)
    alphabetic, fit = ("", 0.0) if is_sure else _alphabetic(data)
    encoding = alphabetic if fit > _FEWEST_FITTING or not east_asian else east_asian
    return data.decode(encoding, "replace") if encoding else "", encoding


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
        is_cut_off = error.start >= len(data) - 3 and error.reason == "unexpected end of data"
        if is_cut_off and not data[: error.start].isascii():
            return data[: error.start].decode("utf-8")
    text = data.decode("utf-8", "replace")
    stray = text.count("\ufffd")
    proper = len(re.findall(r"[^\x00-\x7f\ufffd]", text))
    return text if proper > 20 * stray else None


def _utf16_without_mark(data: bytes) -> str:
    """Return the variant of UTF-16 that yields ordinary characters, "" if neither does.

    Its line ends, spaces and digits have a zero byte, which other text files never have.
    """
    sample = data[:_SAMPLE_BYTES]
    if len(data) % 2 or 200 * sample.count(0) < len(sample):
        return ""
    plain: dict[str, int] = {}
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _try_decode(sample, encoding) or _try_decode(sample[:-2], encoding) or "\x00"
        ordinary = sum(character.isprintable() or character in "\t\r\n" for character in text)
        is_split = sum(map(sample.count, b"\n ,;")) > 2 * sum(map(text.count, "\n ,;"))
        if 50 * ordinary >= 49 * len(text) and not is_split:
            plain[encoding] = len(_PLAIN.findall(text))
    return max(plain, key=lambda encoding: plain[encoding], default="")


def _alphabetic(data: bytes) -> tuple[str, float]:
    """Return the single-byte encoding that yields the letters of one language best, and how well.

    The wrong encoding of a script has other letters, symbols in words, or capitals within words.
    """
    sample = data[:_ALPHABET_BYTES]
    best, best_fit = "", (_FEWEST_LETTERS, -len(sample))
    for place, (encodings, alphabets) in enumerate(_ALPHABETS):
        for encoding in encodings.split():
            text = _try_decode(sample, encoding)
            if text is None:
                continue
            text = _SOFT_HYPHEN.sub("", text)
            words = [w for w in _WORD.findall(_ALONE.sub("", text)) if not w.isascii()]
            mixed = sum(any(map(str.isascii, word)) for word in words)
            strange = len(words) - mixed if place < _LATIN else mixed
            if 3 * strange > len(words):
                continue
            odd = [character for character in text if character > "\x7f"]
            if encoding == "cp874" and 5 * len(_THAI_VOWEL.findall(text)) < len(odd):
                continue
            wrong = len(_GLUED.findall(text)) + sum(
                one.islower() and other.isupper() for word in words for one, other in pairwise(word)
            )
            fitting = max(
                sum(x in _SYMBOLS or x.lower() in alphabet for x in odd)
                for alphabet in alphabets.split()
            )
            share = (fitting - wrong) / len(odd) if odd else 1.0
            fit = share, -sum(map(str.isupper, "".join(word[1:] for word in words)))
            if fit > best_fit:
                best, best_fit = encoding, fit
    return best, best_fit[0]


def _east_asian(data: bytes) -> tuple[str, bool]:
    """Return the encoding of East Asia that yields common characters, "" if none does.

    The second value is True if the text has words: it is in no alphabet.
    """
    scores: dict[str, tuple[float, float]] = {}
    for encoding in _EAST_ASIAN:
        try:
            decoder = codecs.getincrementaldecoder(encoding)()
            text = decoder.decode(data[:_ALPHABET_BYTES], len(data) <= _ALPHABET_BYTES)
            scores[encoding] = _east_asian_score(text, encoding)
        except UnicodeDecodeError:
            continue
    best = max(scores, key=lambda encoding: scores[encoding], default="")
    score, words = scores.get(best, (0.0, 0.0))
    is_sure = words > 0 or (best == "cp949" and score > _FEWEST_FITTING)
    return (best, is_sure) if score > _FEWEST_COMMON else ("", False)


def _east_asian_score(text: str, encoding: str) -> tuple[float, float]:
    """Return how common the characters of a text are, and how many of them are in words.

    A wrong encoding yields characters that few others of East Asia have, and no words.
    """
    import rjieba

    odd = [character for character in text if character > "\x7f"]
    known = sum(map(len, filter(_HAN_WORD.fullmatch, rjieba.cut(text, False))))
    score = known / 2
    for character in odd:
        kind = unicodedata.name(character, "").partition(" ")[0]
        if kind in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"):
            score, known = score + (encoding in _JAPANESE), known + (encoding in _JAPANESE)
        elif kind in ("CJK", "HANGUL"):
            shared = 3 if kind == "HANGUL" else sum(_is_common(character, e) for e in _SCRIPTS)
            is_usual = _is_common(character, encoding) or (
                encoding == "gb18030" and _is_common(character, "big5hkscs")
            )
            score += 0.25 * (1 + shared) if is_usual else -0.5
        else:
            score += 0.5 if kind in ("IDEOGRAPHIC", "FULLWIDTH", "LEFT", "RIGHT") else -1
    return score / max(len(odd), 1), known


@lru_cache(maxsize=20_000)
def _is_common(character: str, encoding: str) -> bool:
    narrow, first, last = _EAST_ASIAN[encoding]
    written = character.encode(narrow, "ignore")
    return len(written) == 2 and first <= written[0] <= last
