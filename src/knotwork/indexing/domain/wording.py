"""Names of relations and things in words that people read."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[_\s]+|(?<=\w)-(?=\w)")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://|[^\s/])\S*")
_KNOWN_SCHEMES = ("http://", "https://", "urn:", "tag:", "mailto:", "info:", "file:")
_HASH = r"[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CODE = re.compile(rf"[A-Za-z]{{0,2}}[:_\-]?\d+|{_HASH}")
_BARE_CODE = re.compile(rf"\d+|{_HASH}")
_HAN = re.compile("[\u3400-\u9fff]")
_SUFFIX = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")


def is_iri(text: str) -> bool:
    """Tell an IRI from a name."""
    return text.startswith(_KNOWN_SCHEMES) and _IRI.fullmatch(text) is not None


def short_name(iri: str) -> str:
    """Return the last part of an IRI, decoded: "Hamid_Karzai" of ".../resource/Hamid_Karzai"."""
    bare = iri.rstrip("/#")
    part = re.split(r"[/#]", bare)[-1]
    return unquote(bare.rpartition(":")[2] if part == bare else part) or iri


def local_name(iri: str) -> str:
    """Return the last part of an IRI in words: "Hamid Karzai"."""
    return " ".join(short_name(iri).replace("_", " ").split()) or iri


def namespace(iri: str) -> str:
    """Return the part before the last of an IRI, as a short word."""
    parts = [part for part in re.split(r"[/#:]", iri.rstrip("/#")) if part]
    return parts[-2] if len(parts) > 1 else ""


def is_code(text: str) -> bool:
    """Tell an id that names nothing to people: a number, "n12", a hash."""
    return _CODE.fullmatch(text) is not None


def is_bare_code(text: str) -> bool:
    """Tell a number or a hash."""
    return _BARE_CODE.fullmatch(text) is not None


def has_han(text: str) -> bool:
    """Tell whether a text has Chinese characters."""
    return _HAN.search(text) is not None


def bracketed(name: str) -> tuple[str, str]:
    """Return a name without what stands in brackets at its end, and that."""
    found = _SUFFIX.search(name)
    if found is None or not name[: found.start()].strip():
        return name, ""
    return name[: found.start()].strip(), found[1].strip()


@lru_cache(maxsize=4_096)
def say_relation_name(raw: str) -> str:
    """Return a relation in words: "directed by" of "directed_by", "is located in" of
    "isLocatedIn", "acted in" of "ACTED_IN", the last part of an IRI or a path.
    """
    text = short_name(raw) if is_iri(raw) else raw
    if text.startswith("/") and text.strip("/"):
        text = text.strip("/").rpartition("/")[2]
    if " " in text.strip():
        return " ".join(text.split())
    words = [word for part in _PARTS.split(text) for word in _CAMEL.split(part) if word]
    shouted = text.upper() == text
    said = " ".join(
        word.lower() if shouted or len(word) == 1 or not word.isupper() else word for word in words
    )
    return said or " ".join(raw.split())


def say_property(name: str) -> str:
    """Return the name of a property in words."""
    return say_relation_name(name)
