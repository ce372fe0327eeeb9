"""Read a folder of prompts that replace built-in ones, and write the built-in ones to a folder.

A folder has files ``TASK.LANGUAGE.txt``, as those of Knotwork, and ``extraction.LANGUAGE.toml``
with parts of the prompts of extraction.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from knotwork._inference.own_prompts import EXTRACTION, OwnPrompts
from knotwork._inference.prompt_files import (
    PLACEHOLDER,
    PROMPTS,
    split_prompt,
)
from knotwork.errors import ConfigError, UnknownName

_ROOMS = (
    "knotwork._extensions.media",
    "knotwork._extensions.model_indexing",
    "knotwork._extensions.queries",
    "knotwork._retrieval.steps",
    "knotwork._synthesis",
    "knotwork._extensions.agents",
    "knotwork._extensions.evaluation",
)
"""The packages with a folder of prompts."""
_FILE = re.compile(r"(?P<name>[\w-]+)\.(?P<language>\w+)\.txt")
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class BuiltInPrompt:
    """A prompt that Knotwork comes with: its file name, and the text of the file."""

    name: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """The name of the file that replaces it."""
        kind = "toml" if self.name == EXTRACTION else "txt"
        return f"{self.name}.{self.language}.{kind}"


@cache
def built_in_prompts() -> tuple[BuiltInPrompt, ...]:
    """Return all prompts in the languages of Knotwork itself, by name and language."""
    found: list[BuiltInPrompt] = []
    for room in _ROOMS:
        for path in files(room).joinpath("prompts").iterdir():
            if path.name.endswith((".txt", ".toml")):
                name, language, _ = path.name.rsplit(".", 2)
                found.append(BuiltInPrompt(name, language, path.read_text("utf-8")))
    return tuple(sorted(found, key=lambda prompt: (prompt.name, prompt.language)))


def copy_built_in(folder: Path) -> tuple[list[str], list[str]]:
    """Write the built-in prompts to a folder, and return the names of written and existing files.

    Existing files stay as they are. Raises OSError if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    present: list[str] = []
    for prompt in built_in_prompts():
        try:
            with folder.joinpath(prompt.file).open("x", encoding="utf-8", newline="\n") as file:
                file.write(prompt.text)
        except FileExistsError:
            present.append(prompt.file)
        else:
            written.append(prompt.file)
    return written, present


def read_folder(folder: str | Path) -> OwnPrompts:
    """Return the prompts of a folder; raises the first of its faults.

    Files whose names begin with a dot or end with ``~`` are ignored, and copies of built-in prompts
    that are unchanged count as built-in.
    """
    own, faults = _read_folder(Path(folder))
    if faults:
        raise faults[0]
    return own


def faults_in(folder: str | Path) -> list[ConfigError]:
    """Return the errors of all files of a folder; `read_folder` raises the first.

    Raises ConfigError if the path is not a folder.
    """
    return _read_folder(Path(folder))[1] if str(folder) else []


def _read_folder(folder: Path) -> tuple[OwnPrompts, list[ConfigError]]:
    if not folder.is_dir():
        raise ConfigError(
            f"prompts.dir is `{folder}`, which is not a folder.",
            fix=f"Create it with the built-in prompts: knotwork prompts copy {folder}",
        )
    texts: dict[tuple[str, str], tuple[str, str]] = {}
    extraction: dict[str, Mapping[str, str]] = {}
    names: list[str] = []
    faults: list[ConfigError] = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith(".") or file.name.endswith("~"):
            continue
        try:
            model = _find_built_in(file)
            text = _read(file)
            if model.name == EXTRACTION:
                built_in = tomllib.loads(model.text)
                parts = _read_parts(file, text, built_in)
                changed = {key: own for key, own in parts.items() if own != built_in[key].strip()}
                if not changed:
                    continue
                extraction[model.language] = changed
            else:
                found = _read_messages(file, text, model)
                if file.name == model.file and found == split_prompt(model.text):
                    continue
                texts[model.name, file.name.rsplit(".", 2)[1]] = found
        except ConfigError as error:
            faults.append(error)
        else:
            names.append(file.name)
    return OwnPrompts(str(folder), texts, extraction, tuple(names)), faults


def _find_built_in(file: Path) -> BuiltInPrompt:
    """Return the built-in prompt that a file replaces; the English one if only that exists."""
    prompts = {prompt.file: prompt for prompt in built_in_prompts()}
    name = file.name
    match = _FILE.fullmatch(name)
    if name not in prompts and match and match["language"] in PROMPTS:
        name = f"{match['name']}.en.txt"
    if name not in prompts:
        raise UnknownName(
            "prompt file", file.name, prompts, place=f" in prompts.dir `{file.parent}`"
        )
    return prompts[name]


def _read(file: Path) -> str:
    """Return the text of a file, with line feeds only and without a byte order mark."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"The prompt `{file}` has more than {_MOST_BYTES:,} bytes.")
        return file.read_text("utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The prompt `{file}` cannot be read: {error}.", fix="Use a text file in UTF-8."
        ) from error


def _read_messages(file: Path, text: str, model: BuiltInPrompt) -> tuple[str, str]:
    parts, expected = split_prompt(text), split_prompt(model.text)
    if bool(parts[1]) != bool(expected[1]):
        what, fix = "has a line `---`", "Leave it out: this prompt is a system message only."
        if expected[1]:
            what = "has no line `---` with the user message below"
            fix = "Put `---` on a line of its own between the system message and the user message."
        raise ConfigError(f"The prompt `{file}` {what}.", fix=fix)
    if not parts[0]:
        raise ConfigError(f"The prompt `{file}` has no system message.")
    _check_placeholders(f"The prompt `{file}`", text, model.text)
    return parts


def _read_parts(file: Path, text: str, expected: Mapping[str, str]) -> dict[str, str]:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The prompts `{file}` are not TOML: {error}.") from error
    for key, value in data.items():
        if key not in expected:
            raise UnknownName("key", key, expected, place=f" in `{file}`")
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"`{key}` in `{file}` is `{value!r}`, not a text.")
        _check_placeholders(f"`{key}` in `{file}`", value, expected[key])
    if not data:
        raise ConfigError(f"The prompts `{file}` have no key.", fix="Remove the file.")
    return {key: value.strip() for key, value in data.items()}


def _check_placeholders(where: str, text: str, model: str) -> None:
    found, expected = ({*PLACEHOLDER.findall(part)} for part in (text, model))
    valid = _listed(expected) or "none"
    if unknown := found - expected:
        raise ConfigError(
            f"{where} has the unknown placeholder {_listed(unknown)}.", fix=f"Valid: {valid}."
        )
    if missing := expected - found:
        raise ConfigError(
            f"{where} lacks the placeholder {_listed(missing)}.", fix=f"It must have: {valid}."
        )


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{{{name}}}`" for name in sorted(names))
