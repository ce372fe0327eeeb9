"""What an import of a graph came to, as JSON."""

from __future__ import annotations

from typing import Any

from knotwork.indexing.domain.importing import GraphImportReport


def describe_graph_import(report: GraphImportReport) -> dict[str, Any]:
    """Return an import of a graph as JSON shows it, of the command line and of the server."""
    return {
        "name": report.name,
        "uri": report.uri,
        "formats": dict(report.formats),
        "unchanged": report.unchanged,
        "things": report.things,
        "facts": report.facts,
        "relations": report.relations,
        "loops": report.loops,
        "shared_names": report.shared_names,
        "documents": report.documents,
        "chunks": report.chunks,
        "bad_lines": dict(report.bad_lines),
        "examples": [
            {
                "file": bad.file,
                "line": bad.line,
                "reason": bad.reason,
                "text": bad.text,
                "kept": bad.kept,
            }
            for bad in report.examples
        ],
        "removed": list(report.removed),
        "property_graph": report.property_graph,
        "embedder": report.embedder,
        "notes": list(report.notes),
        "seconds": {stage: round(seconds, 3) for stage, seconds in report.seconds.items()},
    }
