"""Compile the regular expressions of `=~`: Java's syntax, matched by RE2 in linear time.

RE2 has no backtracking, so a pattern cannot take exponential time or recurse. What Java has and RE2
lacks is refused by name; what both write differently is rewritten.
"""

from __future__ import annotations

import re

import re2

from knotwork._extensions.cypher.language.limits import Budget
from knotwork.errors import QueryRefused, QuerySyntaxError

PATTERN_MEMORY_BYTES = 4 << 20
"""Most memory that RE2 uses for a pattern: its program and the states it caches."""

_MAX_PATTERN_LENGTH = 1_000
_MAX_PATTERNS = 8
_MATCHING_S = 1.2e-8
"""Longest duration of one instruction of a pattern on one byte, in seconds."""

_TOKEN = re.compile(
    r"""(?P<quoted>\\Q.*?(?:\\E|\Z))
    |\\(?P<sign>[pP])\{(?P<property>\w+)\}
    |\\u(?P<code>[0-9a-fA-F]{4})
    |(?P<escape>\\(?:k<\w*>|[1-9]\d*|.))
    |\(\?(?P<flags>[a-zA-Z]*(?:-[a-zA-Z]+)?)(?P<end>[:)])
    |(?P<group>\(\?(?:<[=!]|P?<|P[=>]|[-+]?\d|.))
    |(?P<possessive>(?:[*+?]|\{\d+(?:,\d*)?\})\+)
    |(?P<repeat>\{\d+(?:,\d*)?\})
    |(?P<intersection>&&)
    |(?P<named>\[:\^?\w+:\])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_REFUSED_GROUPS = {
    "(?=": "lookahead",
    "(?!": "lookahead",
    "(?<=": "lookbehind",
    "(?<!": "lookbehind",
    "(?>": "an atomic group",
    "(?P=": "a backreference",
    "(?P>": "recursion",
    "(?&": "recursion",
    "(?R": "recursion",
    "(?(": "a conditional",
    "(?|": "a branch reset",
    "(?#": "a comment",
}
_REFUSED_ESCAPES = dict.fromkeys("123456789k", "a backreference") | {
    "G": "the end of the previous match",
    "R": "a line break of any kind",
    "X": "a grapheme",
    "N": "a character by name",
    "h": "horizontal space",
    "H": "horizontal space",
    "V": "vertical space",
    "Z": "the end before a last line break",
}
_FLAGS = frozenset("imsu-")
_PROPERTIES = {
    "Lower": "lower",
    "Upper": "upper",
    "ASCII": "ascii",
    "Alpha": "alpha",
    "Digit": "digit",
    "Alnum": "alnum",
    "Punct": "punct",
    "Graph": "graph",
    "Print": "print",
    "Blank": "blank",
    "Cntrl": "cntrl",
    "XDigit": "xdigit",
    "Space": "space",
}
"""The POSIX classes of Java, as RE2 names them."""
_BINARY = {"IsAlphabetic": "L", "IsLowercase": "Ll", "IsUppercase": "Lu", "IsDigit": "Nd"}


class Patterns:
    """The most recently used regular expressions of a statement, compiled."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._compiled: dict[str, re2._Regexp] = {}

    def matches(self, text: str, pattern: str) -> bool:
        """Return True if a regular expression matches a whole text.

        Raises QuerySyntaxError for an invalid pattern, QueryRefused for an unsupported or too long
        one, QueryTimeout if matching could take longer than the remaining time.
        """
        compiled = self._compiled.get(pattern)
        if compiled is None:
            compiled = self._add(pattern)
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > 256:
            self._budget.check_duration(len(data) * compiled.programsize * _MATCHING_S)
        self._budget.step()
        return compiled.fullmatch(data) is not None

    def _add(self, pattern: str) -> re2._Regexp:
        if len(self._compiled) >= _MAX_PATTERNS:
            del self._compiled[next(iter(self._compiled))]
        else:
            self._budget.keep(PATTERN_MEMORY_BYTES)
        self._budget.check_time()
        compiled = self._compiled[pattern] = compile_pattern(pattern)
        self._budget.work(compiled.programsize // 16)
        return compiled


def compile_pattern(pattern: str) -> re2._Regexp:
    """Compile a regular expression.

    Raises QuerySyntaxError if it is invalid, QueryRefused if it is too long, too large, or uses
    what RE2 does not support.
    """
    if len(pattern) > _MAX_PATTERN_LENGTH:
        raise QueryRefused(
            f"A regular expression has {len(pattern):,} characters; the limit is "
            f"{_MAX_PATTERN_LENGTH:,}."
        )
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(_rewrite(pattern), options)
    except re2.error as error:
        reason = error.args[0]
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        if "too large" in reason or "repetition size" in reason:
            raise QueryRefused(
                f"The regular expression `{pattern}` repeats too often: {reason}.",
                fix="Repeat a group at most 1,000 times, counting the groups around it.",
            ) from None
        raise QuerySyntaxError(f"Invalid regular expression `{pattern}`: {reason}.") from None
    except UnicodeEncodeError:
        raise QuerySyntaxError("A regular expression contains half of a surrogate pair.") from None
    # The cache of the module would keep the memory of 128 patterns beyond their statements.
    re2.purge()
    return compiled


def _rewrite(pattern: str) -> str:
    """Return a pattern as RE2 writes it. Raises QueryRefused for what RE2 does not support."""
    written: list[str] = []
    in_class = opening = False
    for token in _TOKEN.finditer(pattern):
        text, first = token[0], opening
        opening = False
        if token.lastgroup == "property":
            text = _rewrite_property(token["sign"], token["property"], in_class=in_class)
        elif token.lastgroup == "code":
            text = rf"\x{{{token['code']}}}"
        elif token.lastgroup == "escape":
            if refused := _REFUSED_ESCAPES.get(text[1]):
                raise _unsupported(pattern, text, refused)
        elif in_class:
            _check_in_class(pattern, token)
            in_class = first or text != "]"
            opening = first and text == "^"
        else:
            text = _rewrite_outside(pattern, token)
            in_class = opening = text == "["
        written.append(text)
    return "".join(written)


def _check_in_class(pattern: str, token: re.Match[str]) -> None:
    if token.lastgroup == "intersection":
        raise _unsupported(pattern, token[0], "the intersection of classes")
    if token[0] == "[":
        raise _unsupported(pattern, "[", "a class inside a class", r"Write \[ for a bracket.")


def _rewrite_outside(pattern: str, token: re.Match[str]) -> str:
    """Return a token that is not inside a class as RE2 writes it."""
    text = token[0]
    if token.lastgroup == "end":
        return _rewrite_flags(pattern, token)
    if token.lastgroup == "group":
        _check_group(pattern, text)
    if token.lastgroup == "possessive":
        raise _unsupported(pattern, text, "a possessive quantifier")
    if text == "{":
        unread = pattern[token.start() :][:20]
        raise _unsupported(
            pattern, unread, "fuzzy matching or a bare brace", r"Write \{ for a brace."
        )
    return text


def _rewrite_property(sign: str, name: str, *, in_class: bool) -> str:
    posix = _PROPERTIES.get(name)
    if posix is not None:
        named = f"[:{'^' if sign == 'P' else ''}{posix}:]"
        return named if in_class else f"[{named}]"
    return rf"\{sign}{{{_BINARY.get(name) or name.removeprefix('Is')}}}"


def _rewrite_flags(pattern: str, token: re.Match[str]) -> str:
    flags = token["flags"]
    for flag in flags:
        if flag not in _FLAGS:
            what = "recursion" if flag == "R" else f"the flag `{flag}`"
            raise _unsupported(pattern, token[0], what)
    # (?i) of RE2 folds the case of all scripts, which Java does with (?iu).
    kept = flags.replace("u", "").removesuffix("-")
    if not kept and token["end"] == ")":
        return ""
    return f"(?{kept}{token['end']}"


def _check_group(pattern: str, text: str) -> None:
    what = "recursion" if text[-1].isdigit() else _REFUSED_GROUPS.get(text)
    if what is not None:
        raise _unsupported(pattern, text, what)


def _unsupported(pattern: str, text: str, what: str, fix: str = "") -> QueryRefused:
    return QueryRefused(
        f"The regular expression `{pattern}` is refused: `{text}` is {what}, which is not "
        "supported.",
        fix=fix or "Supported are the regular expressions of RE2, which match in linear time.",
    )
