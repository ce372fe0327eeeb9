"""Write the generated parts of docs/: the help of every command and the table of settings.

Run it after a change to a command or a setting: `python scripts/build_docs.py`. A test compares the
files with what this writes.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import click

from knotwork._cli.main import COMMANDS, PROGRAM, run
from knotwork._config.settings import sections, setting_fields

DOCS = Path(__file__).parents[1] / "docs"
_PART = re.compile(r"(<!-- generated: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite the generated parts of every page."""
    for page in sorted(DOCS.glob("*.md")):
        page.write_text(rebuild(page.read_text(encoding="utf-8")), encoding="utf-8")


def rebuild(text: str) -> str:
    """Return a page with its generated parts renewed."""
    return _PART.sub(lambda part: part[1] + "\n".join(_generate(part[2])) + "\n" + part[3], text)


def command_lines() -> Iterator[tuple[str, ...]]:
    """Yield every command in the help as its words; the empty one is the program itself."""
    yield ()
    for name in (entry.name for entry in COMMANDS.found() if not entry.is_plugin):
        yield (name,)
        command = COMMANDS.load(name)
        if isinstance(command, click.Group):
            yield from ((name, key) for key, sub in command.commands.items() if not sub.hidden)


def render_help(words: tuple[str, ...]) -> str:
    """Return the help of a command as a terminal of 80 columns shows it."""
    os.environ["COLUMNS"] = "80"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run([*words, "--help"])
    return out.getvalue().rstrip()


def _generate(part: str) -> Iterator[str]:
    if part == "settings":
        yield from _settings()
    elif part == "help":
        yield from ("```text", render_help(()), "```")
    elif part == "commands":
        for words in list(command_lines())[1:]:
            yield from (f"### `{PROGRAM} {' '.join(words)}`", "")
            yield from ("```text", render_help(words), "```", "")
    else:
        raise ValueError(f"no generated part is called {part!r}")


def _settings() -> Iterator[str]:
    for section, kind in sections().items():
        yield from (f"### `[{section}]`", "", f"{kind.__doc__}", "")
        yield "| setting | default | environment variable | what it is |"
        yield "|---|---|---|---|"
        for entry in setting_fields():
            if entry.section == section:
                explanation = entry.rule.explanation.replace("\n", " ").replace("|", "\\|")
                default = "none" if entry.default is None else f"`{_show(entry.default)}`"
                yield f"| `{entry.key}` | {default} | `{entry.variable}` | {explanation} |"
        yield ""


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[]" if not value else str(list(value))
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    main()
