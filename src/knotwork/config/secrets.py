"""References to secrets: the settings know where a secret is, never what it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from knotwork.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of the environment variable that holds a secret; written `{ env = "NAME" }`."""

    env: str

    def reveal(self, environ: Mapping[str, str] | None = None) -> str:
        """Return the secret, read now. Raises ConfigError when the variable is unset or empty."""
        value = (os.environ if environ is None else environ).get(self.env, "").strip()
        if not value:
            raise ConfigError(
                f"The environment variable `{self.env}`, named as a secret, is not set.",
                fix=f"Set it before the run: export {self.env}=…",
            )
        return value

    def is_set(self, environ: Mapping[str, str] | None = None) -> bool:
        """Tell whether the variable holds anything."""
        return bool((os.environ if environ is None else environ).get(self.env, "").strip())
