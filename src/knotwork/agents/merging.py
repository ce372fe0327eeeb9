"""Several searches for one question as one ranking: what the first found leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork.records import Evidence, Hit


@dataclass(frozen=True, slots=True)
class Finding:
    """What one step found; ``weight`` in [0, 1] is how much it counts beside the first."""

    tool: str
    text: str
    evidence: Evidence
    weight: float = 1.0
    led_by: str = ""


def merge_findings(
    findings: Sequence[Finding], *, question_evidence: Evidence, k: int
) -> tuple[Hit, ...]:
    """Return the best hits of all steps; scores of later ones are scaled to the first's best.

    A passage found by several steps keeps its best score, with a part in ``scores`` for each step
    that raised it.
    """
    top = max((hit.score for hit in question_evidence.hits), default=0.0) or 1.0
    best: dict[str, Hit] = {hit.chunk.id: hit for hit in question_evidence.hits}
    for number, finding in enumerate(findings, start=1):
        if finding.evidence is question_evidence:
            continue
        own = max((hit.score for hit in finding.evidence.hits), default=0.0)
        scale = finding.weight * top / own if own > 0 else 0.0
        for hit in finding.evidence.hits:
            score = hit.score * scale
            known = best.get(hit.chunk.id)
            if known is None:
                best[hit.chunk.id] = replace(hit, score=score, scores={f"step {number}": score})
            elif score > known.score:
                gained = score - known.score
                scores = {**known.scores, f"step {number}": gained}
                best[hit.chunk.id] = replace(known, score=score, scores=scores)
    return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk.id))[:k])
