"""Strategies for hostile bytes: damaged files, rebuilt archives, and statements of loose grammar.

A strategy draws few numbers and derives the bytes from them, so that long files cost no more than
short ones. The bytes themselves are what a search saves and a replay reads.
"""

from __future__ import annotations

import io
import random
import warnings
import zipfile
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]

LARGEST = 2_000_000
"""Bytes of the longest input."""

ODD_TEXTS: tuple[bytes, ...] = tuple(
    text.encode("utf-8", "surrogatepass")
    for text in (
        *("", "\x00", "\x1b[2J", "\r", "\n\n", "\t", " ", "\ufeff", "\u202e", "\u2028", "\ud800"),
        *("é", "e\u0301" * 40, "温青岚", "👩\u200d👩\u200d👧", "ﬁ", "İ", "ß", "١٢٣", "²", "Ⅷ"),
        *("-1", "0", "1e309", "-0.0", "NaN", "Infinity", "9" * 40, "9" * 5_000, "0x1F", "1_000"),
        *("'", '"', "`", "\\", "\\u0000", "\\x", "%s", "{}", "{0}", "{{", "}}", "${x}", "$1"),
        *("null", "true", "None", "__class__", "../../x", "/dev/zero", "C:\\x", "file:///etc"),
        *("<!--", "]]>", "&#0;", "&x;", "<a ", "</", "<!DOCTYPE a [<!ENTITY x 'y'>]>", "{", "[["),
        *("|", "||", "=", "=>", "*", "**", "(", ")", ")(", ";", "--", "/*", "*/", "#", "@", "~"),
        *("a" * 5_000, "(" * 3_000, "[" * 3_000, "<b>" * 2_000, "a " * 3_000, "\n" * 3_000),
        *(("a" * 30 + "!") * 20, "- " * 2_000, "1." * 2_000, "|" * 4_000, "> " * 500),
    )
)


def damaged(seeds: Sequence[bytes], words: Sequence[bytes] = ()) -> st.SearchStrategy[bytes]:
    """Draw a seed with up to 12 mutations; ``words`` are those of its format."""
    steps = st.lists(st.sampled_from(_MUTATIONS), min_size=1, max_size=12)
    return st.builds(
        lambda place, made, number: _mutate(seeds[place], made, random.Random(number), words),
        st.sampled_from(range(len(seeds))),
        steps,
        st.integers(0, 2**32),
    )


def damaged_archive(
    seeds: Sequence[bytes], words: Sequence[bytes] = ()
) -> st.SearchStrategy[bytes]:
    """Draw a zip file whose members are mutated, renamed, repeated or missing, or plain damage."""
    rebuilt = st.builds(
        lambda place, steps, number: _rebuild(seeds[place], steps, random.Random(number), words),
        st.sampled_from(range(len(seeds))),
        st.lists(st.sampled_from(_MUTATIONS), min_size=1, max_size=6),
        st.integers(0, 2**32),
    )
    return st.one_of(rebuilt, rebuilt, damaged(seeds, words))


def loose(words: Sequence[str], *, most: int = 40) -> st.SearchStrategy[bytes]:
    """Draw words of a language in any order, some of them odd, with or without spaces."""
    word = st.one_of(
        st.sampled_from(list(words)),
        st.sampled_from(list(words)),
        st.sampled_from(list(words)),
        st.sampled_from(ODD_TEXTS).map(lambda text: text.decode("utf-8", "surrogatepass")),
        st.text(max_size=8),
        st.integers(-(10**20), 10**20).map(str),
    )
    return st.builds(
        lambda drawn, gap: gap.join(drawn).encode("utf-8", "surrogatepass"),
        st.lists(word, max_size=most),
        st.sampled_from([" ", " ", "", "\n"]),
    )


def encoded(texts: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """Draw texts as bytes."""
    return texts.map(lambda text: text.encode("utf-8", "surrogatepass"))


def decoded(data: bytes) -> str:
    """Return the text of an input, with the lone surrogates that it may have."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _flip(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 1 + len(data) // 200))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:start] if chance.random() < 0.3 else data[:start] + data[end:]


def _insert(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, _ = _span(data, chance)
    return data[:start] + _word(chance, words) + data[start:]


def _replace(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + _word(chance, words) + data[end:]


def _repeat(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    times = chance.choice((2, 3, 50, 3_000))
    return (
        data[:start] + data[start:end] * min(times, 1 + 300_000 // (1 + end - start)) + data[end:]
    )


def _move(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    start, end = _span(data, chance)
    rest = data[:start] + data[end:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + data[start:end] + rest[place:]


def _number(data: bytes, chance: random.Random, words: Sequence[bytes]) -> bytes:
    """Change a number that is written in digits, if there is one."""
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    place = chance.choice(places)
    other = chance.choice((b"0", b"-1", b"99999999999", b"1e9", b"2147483648", b"65536", b""))
    return data[:place] + other + data[place + 1 :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _cut,
    _insert,
    _insert,
    _replace,
    _repeat,
    _move,
    _number,
)


def _mutate(
    seed: bytes, steps: Sequence[Mutation], chance: random.Random, words: Sequence[bytes]
) -> bytes:
    data = seed
    for step in steps:
        data = step(data, chance, words)[:LARGEST]
    return data


def _rebuild(
    seed: bytes, steps: Sequence[Mutation], chance: random.Random, words: Sequence[bytes]
) -> bytes:
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    for step in steps:
        place = chance.randrange(len(members))
        name, data = members[place]
        match chance.randrange(12):
            case 0:
                del members[place]
            case 1:
                members[place] = (name + "x", data)
            case 2:
                members.append((members[chance.randrange(len(members))][0], data))
            case _:
                members[place] = (name, step(data, chance, words)[:LARGEST])
        if not members:
            return b""
    written = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),  # of members that are there twice
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
    return written.getvalue()


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 2, 5, 20, 200)))


def _word(chance: random.Random, words: Sequence[bytes]) -> bytes:
    if words and chance.random() < 0.6:
        return chance.choice(words)
    return chance.choice(ODD_TEXTS)
