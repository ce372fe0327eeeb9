"""Names of workspaces: safe in an address, in a file name, and before a colon."""

from __future__ import annotations

import re

_NAME = re.compile(r"[^\W_][\w.-]{0,62}[\w-]|[^\W_]")

NAME_RULE = (
    "A name has 1 to 64 letters, digits, `_`, `-` and `.`, begins with a letter or a digit, and "
    "does not end with a dot."
)


def is_name(name: str) -> bool:
    """Tell whether this can be the name of a workspace."""
    return _NAME.fullmatch(name) is not None
