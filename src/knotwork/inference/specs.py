"""Names of models as people write them: "SCHEME:MODEL"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from knotwork.errors import ConfigError, UnknownName

NONE = "none"
"""The name of no model at all."""
Factory = TypeVar("Factory")


def choose_factory(
    spec: str, factories: Mapping[str, Factory], *, what: str, others: Sequence[str] = (NONE,)
) -> tuple[Factory, str]:
    """Return what opens models of the scheme of ``spec``, and the name of the model.

    ``what`` is the kind of model, as "embedding model"; ``others`` are the valid names
    without a scheme. Raises UnknownName for an unknown scheme, ConfigError for one without a
    model.
    """
    scheme, _, model = spec.partition(":")
    if scheme not in factories:
        raise UnknownName(what, spec, [*others, *(f"{known}:…" for known in factories)])
    if not model:
        raise ConfigError(
            f"The {what} `{spec}` names no model.",
            fix=f"Write the model after the colon: {scheme}:NAME",
        )
    return factories[scheme], model
