"""`knotwork doctor` and `knotwork models`: check an installation, and its language models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from knotwork._cli.main import PROGRAM
from knotwork._cli.session import Session, command, command_group
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import Line, Table, each, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.diagnosis import Check
    from knotwork._extensions.diagnosis.model_trials import ModelTrials


@command()
@click.option(
    "--full",
    is_flag=True,
    help="Read every page and value of the index and the files beside it, and compute again what "
    "follows from the documents.",
)
def doctor_command(session: Session, *, full: bool) -> None:
    """Check the installation, settings, index and models, and suggest fixes.

    The exit code is 1 if a check fails. Nothing is changed.
    $ knotwork doctor
    $ knotwork doctor --full --store handbook.knot
    $ knotwork doctor --json > report.json     for a bug report; holds no secrets
    """
    from knotwork._extensions.diagnosis import diagnose

    show_checks(
        session,
        diagnose(session.loaded, full=full),
        settings=session.loaded.described(),
    )


def show_checks(session: Session, checks: Iterable[Check], **beside: object) -> None:
    """Print each check when it is done, or all of them as JSON with what stands ``beside`` them.

    Exits with 1 if one failed.
    """
    done = []
    for check in checks:
        done.append(check)
        if not session.common.json:
            session.terminal.show(check, *_CHECK)
    ok = all(check.ok for check in done)
    session.emit({"ok": ok, "checks": done, **beside})
    if not ok:
        raise click.exceptions.Exit(1)


_CHECK = (
    Line("[{ok:?}ok     {name}: {detail}]", "green"),
    Line("[{ok:!}FAILED {name}: {detail}]", "bold red"),
    Line("{fix}", indent=7),
)


@command_group()
def models_command() -> None:
    """List, check and measure the language models that are set."""


@command(
    group=models_command, name="list", short_help="List the models that are set.", hides_store=True
)
def list_command(session: Session) -> None:
    """List the models that are set, their context, and the models that their servers offer.

    Each server is contacted once, and no model is asked.
    $ knotwork models list
    $ knotwork models list --set llm.answer=openai:gpt-4o
    $ knotwork models list --set llm.base_url=http://localhost:11434/v1 --json
    """
    from knotwork._extensions.diagnosis.model_trials import list_models

    found = list(list_models(session.settings.llm))
    session.show(
        {"models": found},
        "[{models:!}No language model is set (llm.model).]",
        Table("models", _MODELS),
        each("models", note("[{error:?}{name}: {error}]", "yellow")),
        each("offers", note("{name} offers {offered:.12} (--json shows all).")),
        offers=[
            {"name": model.server or model.name, "offered": model.offered}
            for model in found
            if model.offered and not model.error
        ],
    )


_MODELS = {
    "model": "{name}",
    "for": "{roles}",
    "context": "[{window}][{window:!}unknown]",
    "server": "{server}",
}


@command(group=models_command, short_help="Ask each model for one word.", hides_store=True)
def check(session: Session) -> None:
    """Ask each model for one word, as `knotwork doctor` does. The exit code is 1 if one fails.

    $ knotwork models check
    $ knotwork models check --set llm.model=openai:gpt-4o-mini
    $ knotwork models check --json
    """
    from knotwork._extensions.diagnosis.models import check_chat_models

    show_checks(session, check_chat_models(session.settings.llm))


@command(
    group=models_command,
    short_help="Measure speed and usable replies of each model.",
    hides_store=True,
)
def measure(session: Session) -> None:
    """Let each model read two short texts and answer two questions, in English and Chinese.

    Shows tokens per second, and how many of the replies can be used. The exit code is 1 if a model
    gives no usable reply.
    $ knotwork models measure
    $ knotwork models measure --json
    $ knotwork models measure --set llm.model=gguf:/models/small.gguf
    """
    from knotwork._extensions.diagnosis.model_trials import estimate_trials, try_models
    from knotwork.errors import ConfigError

    about = estimate_trials(session.settings.llm)
    if not about:
        raise ConfigError(
            "No language model is set.",
            fix=f"Set llm.model, or name one: {PROGRAM} models measure --set llm.model=openai:NAME",
        )
    session.terminal.note(f"About {about:,} tokens.", style="dim")
    found = []
    for tried in try_models(session.settings.llm):
        found.append(tried)
        if not session.common.json:
            _show(tried, session.terminal)
    session.emit({"models": [_describe(tried) for tried in found]})
    if not all(tried.usable() for tried in found):
        raise click.exceptions.Exit(1)


_TRIED = (
    Line("{model.name} ({model.roles})", "bold"),
    Line(
        "[{trials:?}Speed: reads {input_tokens_per_s:,.0f} and writes {output_tokens_per_s:,.1f} "
        "tokens a second; the first reply began after {first_s:.1f} s]",
        indent=2,
    ),
    Line("[{trials:?}Context: [{model.window} tokens][{model.window:!}unknown]]", indent=2),
    each("kinds", Line("{0}: {1} of {2:#reply/replies} usable", indent=2)),
    each("trials", Line("[{fault:?}{kind}, {language}: {fault}]", "yellow", 4)),
    Line("{error}", "yellow", 2),
    Line("Used: {usage.input_tokens} tokens in, {usage.output_tokens} out", indent=2),
)


def _show(tried: ModelTrials, terminal: Terminal) -> None:
    kinds = dict.fromkeys(trial.kind for trial in tried.trials)
    facts = {
        **fields_of(tried, "model", "trials", "error", "usage"),
        **fields_of(tried, "input_tokens_per_s", "output_tokens_per_s"),
        "first_s": tried.trials[0].first_s if tried.trials else None,
        "kinds": [(kind.capitalize(), tried.usable(kind), tried.tried(kind)) for kind in kinds],
    }
    terminal.show(facts, *_TRIED)


def _describe(tried: ModelTrials) -> dict[str, object]:
    return fields_of(tried, "model", "trials", "error") | {
        "input_tokens_per_s": round(tried.input_tokens_per_s, 1),
        "output_tokens_per_s": round(tried.output_tokens_per_s, 1),
    }
