"""`knotwork prompts`: list, show, copy and check the prompts of language models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork._cli.session import Session, command, command_group
from knotwork._cli.views import Line, Table, each, note
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from knotwork._extensions.prompts.folder import BuiltInPrompt
    from knotwork._inference.own_prompts import OwnPrompts


@command_group()
def prompts_command() -> None:
    """List, show, copy or check the prompts of language models.

    Files in the folder prompts.dir replace built-in prompts.
    """


@command(
    group=prompts_command,
    name="list",
    short_help="List the prompts, and which are your own.",
    hides_store=True,
)
def list_prompts(session: Session) -> None:
    """List the prompts by name and language, and which of them files of your own replace.

    $ knotwork prompts list
    $ knotwork prompts list --set prompts.dir=prompts
    $ knotwork prompts list --json
    """
    from knotwork._cli.index_views import OWN_PROMPTS
    from knotwork._extensions.prompts.folder import built_in_prompts
    from knotwork._inference.own_prompts import read_prompt_folder
    from knotwork._shapes.indexing import describe_prompts

    own = read_prompt_folder(session.settings.prompts.dir)
    files = sorted({*own.files, *(prompt.file for prompt in built_in_prompts())})
    prompts = []
    for file in files:
        name, language, _ = file.rsplit(".", 2)
        prompts.append({"name": name, "language": language, "file": file, "own": file in own.files})
    session.show(
        {"dir": own.folder or None, **describe_prompts(own), "prompts": prompts},
        Table(
            "prompts",
            {
                "prompt": "{name}",
                "language": "{language}",
                "text": "[{own:?}own][{own:!}built in]",
            },
        ),
        note(f"[{{own:?}}{OWN_PROMPTS}]", ""),
        note(
            "[{own:!}To change some: knotwork prompts copy DIR, and set prompts.dir.]",
            "",
        ),
        own=bool(own),
        folder=own.folder,
    )


@command(group=prompts_command, name="show", short_help="Show a prompt.", hides_store=True)
@click.argument("name")
@click.option("--language", metavar="CODE", default="en", show_default=True, help="The language.")
@click.option("--built-in", "built_in", is_flag=True, help="Ignore prompts of your own.")
def show_prompt(session: Session, *, name: str, language: str, built_in: bool) -> None:
    """Show the text of a prompt: your own if there is one.

    Your own file of the prompts of extraction has some of the parts; the others are built in.
    $ knotwork prompts show answer
    $ knotwork prompts show report-community --language zh
    $ knotwork prompts show answer --built-in > answer.en.txt
    """
    from knotwork._extensions.prompts.folder import built_in_prompts
    from knotwork._inference.own_prompts import BUILT_IN, read_prompt_folder

    own = BUILT_IN if built_in else read_prompt_folder(session.settings.prompts.dir)
    prompt = _find(built_in_prompts(), name, language, own)
    is_own = prompt.file in own.files
    text = Path(own.folder, prompt.file).read_text("utf-8-sig") if is_own else prompt.text
    if session.common.json:
        found = fields_of(prompt, "name", "language", "file")
        session.terminal.emit({**found, "own": is_own, "text": text})
    else:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _find(
    prompts: tuple[BuiltInPrompt, ...], name: str, language: str, own: OwnPrompts
) -> BuiltInPrompt:
    """Return the prompt of a name and a language. Raises UnknownName for either."""
    from knotwork._extensions.prompts.folder import BuiltInPrompt

    if name not in {prompt.name for prompt in prompts}:
        raise UnknownName("prompt", name, {prompt.name for prompt in prompts})
    if f"{name}.{language}.txt" in own.files:
        return BuiltInPrompt(name, language, "")
    found = {prompt.language: prompt for prompt in prompts if prompt.name == name}
    if language not in found:
        raise UnknownName("language of this prompt", language, found)
    return found[language]


@command(
    group=prompts_command, short_help="Write the built-in prompts to a folder.", hides_store=True
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def copy(session: Session, *, folder: Path) -> None:
    """Write the built-in prompts to a folder, to change some of them.

    Existing files are kept. Delete the files that you do not change, so that these prompts improve
    with the next release. Then set prompts.dir to the folder.
    $ knotwork prompts copy prompts/
    $ knotwork prompts copy ~/knotwork-prompts
    $ knotwork prompts copy prompts/ --json
    """
    from knotwork._extensions.prompts.folder import copy_built_in

    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"`{folder}` is not a folder.", fix="Choose another path.")
    written, kept = copy_built_in(folder)
    session.show(
        {"dir": str(folder), "written": written, "kept": kept},
        "Wrote {written:#prompt} to {dir}",
        note("[Kept {kept:#existing file}.]", ""),
        note("Delete those that you do not change, and set prompts.dir to {dir}."),
    )


@command(
    group=prompts_command,
    name="check",
    short_help="Check the prompts of your own.",
    hides_store=True,
)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
def check_prompts(session: Session, *, folder: Path | None) -> None:
    """Check the names and placeholders of the prompts in a folder, by default prompts.dir.

    The exit code is 1 if there is a fault.
    $ knotwork prompts check
    $ knotwork prompts check prompts/
    $ knotwork prompts check prompts/ --json
    """
    from knotwork._cli.index_views import OWN_PROMPTS
    from knotwork._extensions.prompts.folder import faults_in
    from knotwork._inference.own_prompts import BUILT_IN, read_prompt_folder
    from knotwork._shapes.indexing import describe_prompts

    wanted = str(folder or session.settings.prompts.dir)
    if not wanted:
        raise ConfigError(
            "No folder of prompts is set.", fix="Name one, or set prompts.dir in knotwork.toml."
        )
    faults = faults_in(wanted)
    own = BUILT_IN if faults else read_prompt_folder(wanted)
    session.show(
        {
            "ok": not faults,
            "dir": wanted,
            **describe_prompts(own),
            "faults": [{"message": fault.message, "fix": fault.fix} for fault in faults],
        },
        f"[{{ok:?}}ok     [{{files:?}}{OWN_PROMPTS}][{{files:!}}no files in {{dir}}]]",
        each("faults", Line("FAILED {message}", "bold red"), Line("{fix}", indent=7)),
        folder=own.folder,
    )
    if faults:
        raise click.exceptions.Exit(1)
