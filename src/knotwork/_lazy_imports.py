"""Import the public names of a module on first use, so that importing the module costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def import_on_use(
    module: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module, as PEP 562 describes them.

    ``names`` has the names that each module of the package defines, separated by spaces.
    """
    homes = {name: home for home, listed in names.items() for name in listed.split()}

    def get_name(name: str) -> Any:  # noqa: ANN401 - any public name
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(f"knotwork.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)
        return value

    def list_names() -> list[str]:
        special = (name for name in vars(sys.modules[module]) if name.startswith("__"))
        return sorted({*special, *homes})

    return get_name, list_names
