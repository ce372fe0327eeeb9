"""Describe the reports of a judge and of the conditions as JSON. Values are from 0 to 1."""

from __future__ import annotations

from typing import Any

from knotwork._extensions.evaluation.answer_figures import rounded
from knotwork._extensions.evaluation.judge import JudgeAgreement, JudgedCase, JudgeReport
from knotwork._extensions.evaluation.judge_runs import JudgedRun, RobustnessReport
from knotwork._extensions.evaluation.judge_statistics import PoweredMean
from knotwork._extensions.evaluation.metrics import MeanEstimate
from knotwork._extensions.evaluation.robustness import TrialResult
from knotwork._shapes.base import fields_of


def describe_judged_run(run: JudgedRun) -> dict[str, Any]:
    """Return the reports of a run, with a row for each question and each trial."""
    described: dict[str, Any] = {}
    if run.judged is not None:
        described["judge"] = _describe_judge(run.judged)
    if run.robustness is not None:
        described["robustness"] = _describe_robustness(run.robustness)
    usage = fields_of(run.usage, "calls", "reused", "input_tokens", "output_tokens")
    described["usage"] = usage | {"money": None if run.money is None else f"{run.money:f}"}
    return described


def _describe_judge(report: JudgeReport) -> dict[str, Any]:
    return {
        "model": report.judge,
        "metrics": {
            name: _describe_mean(found.estimate)
            | fields_of(found, "scored", "unreadable", "inapplicable")
            for name, found in report.metrics.items()
        },
        "unreadable_replies": dict(report.unreadable_replies),
        "agreement": {name: _describe_agreement(found) for name, found in report.agreement.items()},
        "cases": [_describe_case(item) for item in report.cases],
        "labelled": [_describe_case(item) for item in report.labelled],
    }


def _describe_mean(estimate: MeanEstimate | None) -> dict[str, Any]:
    if estimate is None:
        return {"mean": None, "interval": None}
    shift = {"shift": rounded(estimate.shift)} if isinstance(estimate, PoweredMean) else {}
    interval = [rounded(estimate.low), rounded(estimate.high)]
    return {"mean": rounded(estimate.mean), "interval": interval, **shift}


def _describe_agreement(agreement: JudgeAgreement) -> dict[str, Any]:
    return fields_of(agreement) | {
        "accuracy": rounded(agreement.accuracy),
        "kappa": rounded(agreement.kappa),
        "corrected": agreement.corrected and _describe_mean(agreement.corrected),
    }


def _describe_case(item: JudgedCase) -> dict[str, Any]:
    return {
        **fields_of(item.case, "id", "question"),
        "answer": item.case.text,
        "labels": dict(item.case.labels),
        "passages": len(item.case.passages),
        "shown_passages": item.shown_passages,
        "values": {
            name: {
                "value": rounded(found.value),
                "reason": found.reason,
                "verdicts": [{"item": text, "verdict": given} for text, given in found.verdicts],
            }
            for name, found in item.values.items()
        },
        "unreadable": [{"stage": stage, "reason": reason} for stage, reason in item.unreadable],
    }


def _describe_robustness(report: RobustnessReport) -> dict[str, Any]:
    return {
        **fields_of(report, "questions", "skipped"),
        "figures": {
            figure.name: _describe_mean(figure.estimate)
            | fields_of(figure, "trials", "unreadable", "needs_judge")
            for figure in report.figures
        },
        "trials": [_describe_trial(result) for result in report.results],
    }


def _describe_trial(result: TrialResult) -> dict[str, Any]:
    trial, fact = result.trial, result.trial.fact
    return {
        **fields_of(trial.question, "id"),
        "question": trial.question.text,
        **fields_of(trial, "condition", "ratio", "gold", "noise"),
        "changed": fact and {"original": list(fact.original), "changed": list(fact.changed)},
        "answer": result.text,
        **fields_of(result, "answered", "right", "outcome", "judged", "unreadable"),
    }
