"""`knotwork doctor` and `knotwork models`: check an installation, and its language models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from knotwork._cli.main import PROGRAM
from knotwork._cli.session import Session, command, command_group
from knotwork._cli.terminal import Terminal, count_of
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.diagnosis import Check
    from knotwork._extensions.diagnosis.model_trials import ModelTrials

_SHOWN_OFFERS = 12


@command(
    "knotwork doctor",
    "knotwork doctor --full --store handbook.knot",
    "knotwork doctor --json > report.json     for a bug report; holds no secrets",
)
@click.option(
    "--full",
    is_flag=True,
    help="Read every page and value of the index and the files beside it, and compute again what "
    "follows from the documents.",
)
def doctor_command(session: Session, *, full: bool) -> None:
    """Check the installation, settings, index and models, and suggest fixes.

    The exit code is 1 if a check fails. Nothing is changed.
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
    terminal = session.terminal
    done = []
    for check in checks:
        done.append(check)
        if not session.common.json:
            mark, style = ("ok", "green") if check.ok else ("FAILED", "bold red")
            terminal.say(f"{mark:<7}{check.name}: {check.detail}", style=style)
            if check.fix:
                terminal.say(check.fix, indent=7)
    ok = all(check.ok for check in done)
    session.emit({"ok": ok, "checks": done, **beside})
    if not ok:
        raise click.exceptions.Exit(1)


@command_group()
def models_command() -> None:
    """List, check and measure the language models that are set."""


@command(
    "knotwork models list",
    "knotwork models list --set llm.answer=openai:gpt-4o",
    "knotwork models list --set llm.base_url=http://localhost:11434/v1 --json",
    group=models_command,
    name="list",
    short_help="List the models that are set.",
    hides_store=True,
)
def list_command(session: Session) -> None:
    """List the models that are set, their context, and the models that their servers offer.

    Each server is contacted once, and no model is asked.
    """
    from knotwork._extensions.diagnosis.model_trials import list_models

    found = list(list_models(session.settings.llm))
    if session.emit({"models": found}):
        return
    terminal = session.terminal
    if not found:
        terminal.say("No language model is set (llm.model).")
        return
    rows = [(m.name, ", ".join(m.roles), m.window or "unknown", m.server) for m in found]
    terminal.table([("model", "for", "context", "server"), *rows])
    for model in found:
        if model.error:
            terminal.note(f"{model.name}: {model.error}", style="yellow")
        elif model.offered:
            shown = ", ".join(model.offered[:_SHOWN_OFFERS])
            more = len(model.offered) - _SHOWN_OFFERS
            rest = f" and {more} more (--json shows all)" if more > 0 else ""
            terminal.note(f"{model.server or model.name} offers {shown}{rest}.", style="dim")


@command(
    "knotwork models check",
    "knotwork models check --set llm.model=openai:gpt-4o-mini",
    "knotwork models check --json",
    group=models_command,
    short_help="Ask each model for one word.",
    hides_store=True,
)
def check(session: Session) -> None:
    """Ask each model for one word, as `knotwork doctor` does. The exit code is 1 if one fails."""
    from knotwork._extensions.diagnosis.models import check_chat_models

    show_checks(session, check_chat_models(session.settings.llm))


@command(
    "knotwork models measure",
    "knotwork models measure --json",
    "knotwork models measure --set llm.model=gguf:/models/small.gguf",
    group=models_command,
    short_help="Measure speed and usable replies of each model.",
    hides_store=True,
)
def measure(session: Session) -> None:
    """Let each model read two short texts and answer two questions, in English and Chinese.

    Shows tokens per second, and how many of the replies can be used. The exit code is 1 if a model
    gives no usable reply.
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


def _show(tried: ModelTrials, terminal: Terminal) -> None:
    terminal.say(f"{tried.model.name} ({', '.join(tried.model.roles)})", style="bold")
    if tried.trials:
        window = f"{tried.model.window:,} tokens" if tried.model.window else "unknown"
        speed = (
            f"reads {tried.input_tokens_per_s:,.0f} and writes {tried.output_tokens_per_s:,.1f} "
            f"tokens a second; the first reply began after {tried.trials[0].first_s:.1f} s"
        )
        terminal.say(f"Speed: {speed}", indent=2)
        terminal.say(f"Context: {window}", indent=2)
    for kind in dict.fromkeys(trial.kind for trial in tried.trials):
        replies = count_of(tried.tried(kind), "reply", "replies")
        terminal.say(f"{kind.capitalize()}: {tried.usable(kind)} of {replies} usable", indent=2)
    for trial in tried.trials:
        if trial.fault:
            terminal.say(f"{trial.kind}, {trial.language}: {trial.fault}", indent=4, style="yellow")
    if tried.error:
        terminal.say(tried.error, indent=2, style="yellow")
    used = tried.usage
    terminal.say(f"Used: {used.input_tokens:,} tokens in, {used.output_tokens:,} out", indent=2)


def _describe(tried: ModelTrials) -> dict[str, object]:
    return fields_of(tried, "model", "trials", "error") | {
        "input_tokens_per_s": round(tried.input_tokens_per_s, 1),
        "output_tokens_per_s": round(tried.output_tokens_per_s, 1),
    }
