"""`knotwork retrievers`: the patterns by which passages are found, and what each needs."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        "knotwork retrievers",
        "knotwork retrievers --json",
        'knotwork search "salt layer" --retriever "bm25 + graph > diversify"',
    )
)
@with_session(hides_store=True)
def command(session: Session) -> None:
    """List the retrievers for --retriever, and the steps they may be composed with.

    docs/patterns.md describes the purpose of each, the graph it needs, and its options.
    """
    from knotwork.retrieval.registry import AUTO, AUTO_IS, AUTO_OVER_GRAPHS, RETRIEVERS
    from knotwork.retrieval.steps.registry import STEPS

    if session.common.json:
        session.terminal.emit(
            {
                "auto": AUTO_IS,
                "auto_over_graphs": AUTO_OVER_GRAPHS,
                "retrievers": {
                    name: {
                        "summary": pattern.summary,
                        "needs": _needs(model=pattern.needs_model, embedder=pattern.needs_embedder),
                    }
                    for name, pattern in sorted(RETRIEVERS.items())
                },
                "steps": {name: step.summary for name, step in sorted(STEPS.items())},
            }
        )
        return
    terminal = session.terminal
    terminal.say("Retrievers", style="bold")
    rows = [(AUTO, f"{AUTO_IS}; {AUTO_OVER_GRAPHS} where a graph was imported", "")]
    for name, pattern in sorted(RETRIEVERS.items()):
        needs = _needs(model=pattern.needs_model, embedder=pattern.needs_embedder)
        rows.append((name, pattern.summary, f"needs {' and '.join(needs)}" if needs else ""))
    terminal.table(rows, indent=2)
    terminal.say("\nSteps, before or after one", style="bold")
    terminal.table([(name, step.summary) for name, step in sorted(STEPS.items())], indent=2)
    terminal.say("\nCompose them as in: decompose > bm25 + graph > diversify")


def _needs(*, model: bool, embedder: bool) -> list[str]:
    return [*(["a language model"] if model else []), *(["vectors"] if embedder else [])]
