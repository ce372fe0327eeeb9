"""Write `knotwork.toml` with every setting and its explanation; defaults are comments."""

from __future__ import annotations

from pathlib import Path

from knotwork._config.setting_values import as_toml
from knotwork._config.settings import SettingField, Settings, sections, setting_fields
from knotwork.errors import ConfigError

_HEAD = """\
# Settings of Knotwork. A line that begins with "#" shows a default: remove the "#" to change it.
# Environment variables (KNOTWORK_STORE_PATH for path in [store]) and command line options override
# this file. `knotwork config show --origin` lists the effective values.
"""


def render_config(settings: Settings | None = None) -> str:
    """Return TOML that loads to these settings; values that equal their default are comments.

    The user and the password in the URL of an index are left out.
    """
    settings = settings or Settings()
    blocks = [_HEAD]
    for section, kind in sections().items():
        lines = [f"# {kind.__doc__}", f"[{section}]"]
        for entry in setting_fields():
            if entry.section == section:
                lines.extend(_render_setting(entry, entry.shown(settings)))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def write_default_config(path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a settings file with all defaults as comments, and return its path.

    Raises ConfigError if the file exists and ``overwrite`` is off, or if it is not writable.
    """
    target = Path(path)
    try:
        with target.open("w" if overwrite else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(render_config())
    except FileExistsError:
        raise ConfigError(
            f"The settings file `{target}` already exists.",
            fix="Edit it, or replace it with: knotwork init --force",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"The settings file `{target}` cannot be written: {error.strerror}.",
            fix="Choose an existing folder that is writable.",
        ) from error
    return target


def _render_setting(entry: SettingField, value: object) -> list[str]:
    lines = [f"## {line}" for line in entry.rule.explanation.split("\n")]
    if value == entry.default:
        shown = '{ env = "NAME" }' if value is None else as_toml(value)
        return [*lines, f"# {entry.key} = {shown}"]
    return [*lines, f"{entry.key} = {as_toml(value)}"]
