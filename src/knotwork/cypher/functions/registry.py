"""All functions by name; one that is not here is refused."""

from __future__ import annotations

from knotwork.cypher.functions.conversions import CONVERSIONS
from knotwork.cypher.functions.elements import ELEMENTS
from knotwork.cypher.functions.lists import LISTS
from knotwork.cypher.functions.numbers import NUMBERS
from knotwork.cypher.functions.signature import Function
from knotwork.cypher.functions.strings import STRINGS
from knotwork.cypher.functions.times import TIMES
from knotwork.errors import QueryRefused, QuerySyntaxError

_FUNCTIONS: dict[str, Function] = {
    **CONVERSIONS,
    **ELEMENTS,
    **LISTS,
    **NUMBERS,
    **STRINGS,
    **TIMES,
}
_VENDORS = ("apoc.", "gds.", "db.", "dbms.", "tx.", "genai.", "vector.", "algo.", "graph.")


def function_names() -> list[str]:
    """Return the names of all functions, ascending."""
    return sorted(_FUNCTIONS)


def find_function(name: str, count: int) -> Function:
    """Return a function by its name in small letters, for so many values.

    Raises QueryRefused for one that is not known, QuerySyntaxError for a wrong number of values.
    """
    found = _FUNCTIONS.get(name)
    if found is None:
        if name.startswith(_VENDORS):
            raise QueryRefused(f"`{name}()` belongs to another database, and is not supported.")
        raise QueryRefused(f"There is no function `{name}()` here, or it is not supported.")
    if not found.least <= count <= found.most:
        wanted = f"{found.least}" if found.least == found.most else f"{found.least}-{found.most}"
        raise QuerySyntaxError(f"{name}() takes {wanted} values, not {count}.")
    return found
