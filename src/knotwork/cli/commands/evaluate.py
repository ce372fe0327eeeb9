"""`knotwork eval`: how well retrievers find the passages that answer known questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of

if TYPE_CHECKING:
    from knotwork.evaluation.datasets import Dataset
    from knotwork.evaluation.runner import EvaluationRun

DRAWN_METRIC = "recall@5"
BASELINE = "hybrid"
"""What every retriever is compared with when all are measured."""


@click.command(
    "eval",
    epilog=show_examples(
        "knotwork eval data/hotpot --retrievers auto,bm25 --json",
        "knotwork eval data/hotpot --all --limit 50",
        "knotwork eval data/hotpot --hide-titles --plot recall.png",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--retrievers",
    metavar="NAMES",
    default="auto,hybrid,dense,bm25",
    show_default=True,
    help="Separated by commas.",
)
@click.option("--all", "every", is_flag=True, help=f"All retrievers, compared with {BASELINE}.")
@click.option("--hide-titles", is_flag=True, help="Leave the titles of passages out.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Only the first N questions."
)
@click.option("--plot", metavar="FILE", type=Path, help="Draw the means into an image.")
@with_session(hides_store=True)
def command(
    session: Session,
    *,
    folder: Path,
    retrievers: str,
    every: bool,
    hide_titles: bool,
    limit: int | None,
    plot: Path | None,
) -> None:
    """Measure retrievers on a data set, with a paired test of each against the first.

    The index is kept in the user's cache folder, so that the next run only asks. --all takes every
    retriever that works on it; those that need a language model where one is set.
    """
    from knotwork.evaluation.datasets import load_dataset
    from knotwork.evaluation.report import as_json
    from knotwork.evaluation.retrievers import read_retrievers

    names = _all_names(session) if every else read_retrievers(retrievers)
    dataset = load_dataset(folder, hide_titles=hide_titles, limit=limit)
    run = run_evaluation(session, dataset, names, skipping=every)
    if plot is not None:
        from knotwork.cli.plots import draw_means

        draw_means(run, plot)
    if session.common.json:
        session.terminal.emit(as_json(run))
    else:
        print_run(session, run)


def _all_names(session: Session) -> list[str]:
    """Return every retriever but the one that is another's name, the baseline first."""
    from knotwork.retrieval.registry import AUTO, retriever_names

    names = retriever_names(model=bool(session.settings.llm.model))
    return [BASELINE, *(name for name in names if name not in {AUTO, BASELINE})]


def run_evaluation(
    session: Session, dataset: Dataset, names: list[str], *, skipping: bool = False
) -> EvaluationRun:
    """Index the corpus where it is not yet, ask every question, and return the outcome.

    With ``skipping`` communities are found too, and retrievers that cannot run are left out.
    """
    from platformdirs import user_cache_path

    from knotwork.cli.progress import choose_counter, choose_view
    from knotwork.evaluation.runner import EvaluationRun, index_dataset, index_path
    from knotwork.evaluation.runner import evaluate as ask_all
    from knotwork.indexing.communities.survey import bring_up_to_date, is_current
    from knotwork.inference import open_embedder
    from knotwork.inference.reranker_registry import open_reranker
    from knotwork.inference.role_models import RoleModels, calls_path
    from knotwork.stores.registry import open_store
    from knotwork.transform.registry import make_extractor

    settings = session.settings
    embedder = open_embedder(settings.embedding.model, settings.embedding)
    extractor = make_extractor(settings.index.extractor)
    cache = user_cache_path("knotwork", appauthor=False) / "evaluation"
    cache.mkdir(parents=True, exist_ok=True)
    path = index_path(dataset, embedder=embedder, folder=cache)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    store = open_store(str(path), create=True)
    models = RoleModels(settings.llm, path=calls_path(str(path)))
    try:
        with choose_view(session.terminal, "auto", hidden=session.common.no_progress) as view:
            for event in index_dataset(
                dataset, store=store, embedder=embedder, extractor=extractor
            ):
                view.show(event)
        if skipping and not is_current(store):
            bring_up_to_date(store)
        questions = ask_all(
            dataset, names, store=store, embedder=embedder, run=run, models=models,
            reranker=open_reranker(settings.rerank), skipping=skipping,
        )  # fmt: skip
        with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
            for asked in questions:
                counter.count(f"Asking {asked.retriever}", asked.done, asked.total)
    finally:
        models.close()
        store.close()
    return run


def print_run(session: Session, run: EvaluationRun) -> None:
    """Print the means as a table and as bars, and what the paired tests say."""
    from knotwork.evaluation.report import COMPARED_METRICS, as_json, differences

    terminal = session.terminal
    described = as_json(run)
    means: dict[str, dict[str, float]] = described["retrievers"]
    questions = count_of(run.questions, "question")
    terminal.say(f"{run.dataset}: {questions}, means in percent", style="bold")
    metrics = list(next(iter(means.values()), {}))
    terminal.table(
        [
            (name, *(f"{value * 100:.1f}" for value in values.values()),
             f"{described['median_ms'][name]:.1f}", f"{described['tokens'][name]:,.0f}")
            for name, values in means.items()
        ],
        header=("retriever", *metrics, "ms", "tokens"),
    )  # fmt: skip
    terminal.say(f"\n{DRAWN_METRIC}", style="bold")
    terminal.table((name, draw_bar(values[DRAWN_METRIC])) for name, values in means.items())
    for metric in COMPARED_METRICS:
        compared = differences(run, metrics=[metric])
        if not compared:
            break
        first = compared[0].first
        terminal.say(f"\nPaired difference to {first} in {metric}, in points", style="bold")
        terminal.table(
            [
                (d.second, f"{0.0 - 100 * d.difference:+.1f}", f"{d.losses:,}", f"{d.wins:,}",
                 f"{d.p_value:.4f}")
                for d in compared
            ],
            header=("retriever", "points", "better", "worse", "p"),
        )  # fmt: skip
    for name, reason in run.skipped.items():
        terminal.note(f"{name} was left out: {reason}")


def draw_bar(share: float, width: int = 50) -> str:
    """Return a bar of a share from 0 to 1, with its value."""
    return f"{'█' * round(share * width)}{'·' * (width - round(share * width))} {share * 100:.1f}"
