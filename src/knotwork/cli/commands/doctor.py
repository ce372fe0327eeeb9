"""`knotwork doctor`: whether installation, index and model are in order."""

from __future__ import annotations

from dataclasses import asdict

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        "knotwork doctor",
        "knotwork doctor --store handbook.knot",
        "knotwork doctor --json > report.json        to paste; holds no secrets",
    )
)
@with_session()
def command(session: Session) -> None:
    """Check installation, settings, index and embedder, and say what to do.

    Exits with 1 when a check fails. Nothing is changed.
    """
    from knotwork.diagnosis import diagnose

    terminal = session.terminal
    checks = []
    for check in diagnose(session.loaded):
        checks.append(check)
        if not session.common.json:
            mark, style = ("ok", "green") if check.ok else ("FAILED", "bold red")
            terminal.say(f"{mark:<7}{check.name}: {check.detail}", style=style)
            if check.fix:
                terminal.say(check.fix, indent=7)
    ok = all(check.ok for check in checks)
    if session.common.json:
        described = [asdict(check) for check in checks]
        terminal.emit({"ok": ok, "checks": described, "settings": session.loaded.described()})
    if not ok:
        raise click.exceptions.Exit(1)
