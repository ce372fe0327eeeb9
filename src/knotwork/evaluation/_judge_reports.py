"""Describe the reports of a judge and of the conditions as JSON. Values are from 0 to 1."""

from __future__ import annotations

from typing import Any

from knotwork.evaluation._answer_figures import rounded
from knotwork.evaluation._judge import (
    JudgeAgreement,
    JudgedCase,
    JudgedMetric,
    JudgeReport,
)
from knotwork.evaluation._judge_runs import JudgedRun, RobustnessReport
from knotwork.evaluation._judge_statistics import PoweredMean
from knotwork.evaluation._metrics import MeanEstimate
from knotwork.evaluation._robustness import TrialResult


def describe_judged_run(run: JudgedRun) -> dict[str, Any]:
    """Return the reports of a run, with a row for each question and each trial."""
    described: dict[str, Any] = {}
    if run.judged is not None:
        described["judge"] = describe_judge_report(run.judged)
    if run.robustness is not None:
        described["robustness"] = _describe_robustness(run.robustness)
    described["usage"] = {
        "calls": run.usage.calls,
        "reused": run.usage.reused,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        "money": None if run.money is None else f"{run.money:f}",
    }
    return described


def describe_judge_report(report: JudgeReport) -> dict[str, Any]:
    """Return the totals, the agreement with labels, and a row for each case."""
    return {
        "model": report.judge,
        "metrics": {name: _describe_metric(found) for name, found in report.metrics.items()},
        "unreadable_replies": dict(report.unreadable_replies),
        "agreement": {name: _describe_agreement(found) for name, found in report.agreement.items()},
        "cases": [_describe_case(item) for item in report.cases],
        "labelled": [_describe_case(item) for item in report.labelled],
    }


def _describe_metric(metric: JudgedMetric) -> dict[str, Any]:
    return {
        **_describe_estimate(metric.estimate),
        "scored": metric.scored,
        "unreadable": metric.unreadable,
        "inapplicable": metric.inapplicable,
    }


def _describe_estimate(estimate: MeanEstimate | PoweredMean | None) -> dict[str, Any]:
    if estimate is None:
        return {"mean": None, "interval": None}
    interval = [rounded(estimate.low), rounded(estimate.high)]
    return {"mean": rounded(estimate.mean), "interval": interval}


def _describe_agreement(agreement: JudgeAgreement) -> dict[str, Any]:
    corrected = agreement.corrected
    return {
        "compared": agreement.compared,
        "unreadable": agreement.unreadable,
        "inapplicable": agreement.inapplicable,
        "accuracy": rounded(agreement.accuracy),
        "kappa": rounded(agreement.kappa),
        "corrected": None
        if corrected is None
        else {**_describe_estimate(corrected), "shift": rounded(corrected.shift)},
    }


def _describe_case(item: JudgedCase) -> dict[str, Any]:
    return {
        "id": item.case.id,
        "question": item.case.question,
        "answer": item.case.text,
        "labels": dict(item.case.labels),
        "passages": len(item.case.passages),
        "shown_passages": item.shown_passages,
        "values": {
            name: {
                "value": rounded(found.value),
                "reason": found.reason,
                "verdicts": [
                    {"item": text, "verdict": verdict} for text, verdict in found.verdicts
                ],
            }
            for name, found in item.values.items()
        },
        "unreadable": [{"stage": stage, "reason": reason} for stage, reason in item.unreadable],
    }


def _describe_robustness(report: RobustnessReport) -> dict[str, Any]:
    return {
        "questions": report.questions,
        "skipped": report.skipped,
        "figures": {
            figure.name: {
                **_describe_estimate(figure.estimate),
                "trials": figure.trials,
                "unreadable": figure.unreadable,
                "needs_judge": figure.needs_judge,
            }
            for figure in report.figures
        },
        "trials": [_describe_trial(result) for result in report.results],
    }


def _describe_trial(result: TrialResult) -> dict[str, Any]:
    trial = result.trial
    fact = trial.fact
    return {
        "id": trial.question.id,
        "question": trial.question.text,
        "condition": trial.condition.value,
        "ratio": trial.ratio,
        "gold": trial.gold,
        "noise": trial.noise,
        "changed": None
        if fact is None
        else {"original": list(fact.original), "changed": list(fact.changed)},
        "answer": result.text,
        "answered": result.answered,
        "right": result.right,
        "outcome": None if result.outcome is None else result.outcome.value,
        "judged": result.judged,
        "unreadable": result.unreadable,
    }
