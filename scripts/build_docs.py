"""Write the generated parts of docs/: the commands with their options, and the table of settings.

Run it after a change to a command or a setting: `python scripts/build_docs.py`. A test compares the
files with what this writes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import click

from knotwork._cli.main import COMMANDS, PROGRAM, app, run
from knotwork._config.setting_values import SettingTable
from knotwork._config.settings import sections, setting_fields

DOCS = Path(__file__).parents[1] / "docs"
_COMMON = {"--store", "--json", "--help"}
"""Options of nearly every command, which the page explains once."""
_RANGE = re.compile(r" \[x[<>=\d]+\]|; x[<>=\d]+(?=\])")
"""The range of a number, in the help of its option."""
_PART = re.compile(r"(<!-- generated: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite the generated parts of every page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
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
    elif part == "list of commands":
        yield from _command_list()
    elif part == "shared options":
        yield from _shared_options()
    elif part == "commands":
        for words in _documented():
            yield from _command(words)
    else:
        raise ValueError(f"no generated part is called {part!r}")


def _documented() -> list[tuple[str, ...]]:
    """Return every command but the program itself."""
    return list(command_lines())[1:]


def _find_command(words: Sequence[str]) -> click.Command:
    command: click.Command = app
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(app), word)
        assert found is not None
        command = found
    return command


def _command_list() -> Iterator[str]:
    for entry in (entry for entry in COMMANDS.found() if not entry.is_plugin):
        name, command = entry.name, _find_command([entry.name])
        yield f"- [`{name}`](#{PROGRAM}-{name}): {entry.summary}"
        if isinstance(command, click.Group):
            shown = [key for key, sub in command.commands.items() if not sub.hidden]
            yield f"  ({', '.join(f'[`{key}`](#{PROGRAM}-{name}-{key})' for key in shown)})"


def _options(words: Sequence[str]) -> dict[str, str]:
    """Return the explanation of each option of a command, by its names and metavariable."""
    command = _find_command(words)
    context = click.Context(command, info_name=" ".join(words))
    records = (
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option) and option.opts[-1] not in _COMMON
    )
    found = {names: " ".join(text.split()) for names, text in filter(None, records)}
    return {names: _RANGE.sub("", text) for names, text in found.items()}


@cache
def _shared() -> dict[str, str]:
    """Return the options that several commands have, all of them with the same explanation."""
    uses = Counter(item for words in _documented() for item in _options(words).items())
    often = [item for item, count in uses.items() if count > 1]
    names = Counter(name for name, _ in often)
    return {name: text for name, text in often if names[name] == 1}


def _shared_options() -> Iterator[str]:
    for names, text in sorted(_shared().items()):
        yield f"- `{names}`: {text}"


def _command(words: tuple[str, ...]) -> Iterator[str]:
    """Yield usage, purpose, own options and one example of a command."""
    command = _find_command(words)
    options = _options(words)
    also = [names for names, text in options.items() if _shared().get(names) == text]
    own = {names: text for names, text in options.items() if names not in also}
    yield from (f"{'#' * (2 + len(words))} `{PROGRAM} {' '.join(words)}`", "")
    purpose = " ".join((command.help or "").split("\n\n")[0].split())
    yield from (re.split(r"(?<=\w\.) (?=[A-Z])", purpose)[0], "")
    if not isinstance(command, click.Group):
        usage = " ".join(command.collect_usage_pieces(click.Context(command))[1:])
        lines = [f"{PROGRAM} {' '.join(words)} {usage}".rstrip(), *_find_example(command, options)]
        yield from ("```text", *lines, "```", "")
    if own:
        yield from (f"- `{names}`: {text}" for names, text in own.items())
    if also:
        names = [name.partition(" ")[0].rstrip(",") for name in also]
        yield f"- shared: {', '.join(f'`{name}`' for name in names)}"
    if own or also:
        yield ""


def _find_example(command: click.Command, options: Collection[str]) -> list[str]:
    """Return the first example with an option of the command, if it has several options."""
    names = {word.strip(",") for option in options for word in option.split()}
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    found = (line for line in lines if line.startswith(PROGRAM) and names & set(line.split()))
    return list(islice(found, 1)) if len(options) > 2 else []


def _settings() -> Iterator[str]:
    for section, kind in sections().items():
        yield from (f"### `[{section}]`", "", f"{kind.__doc__}", "")
        for entry in setting_fields():
            if entry.section == section:
                explanation = entry.rule.explanation.replace("\n", " ")
                default = "none" if entry.default is None else f"`{_show(entry.default)}`"
                yield f"- `{entry.key}` ({default}): {explanation}"
        yield ""


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[]" if not value else str(list(value))
    if isinstance(value, SettingTable):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    main()
