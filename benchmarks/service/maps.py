"""Measure how long a running server takes for views of the map of a workspace.

    KNOTWORK_SERVICE_REQUESTS_PER_MINUTE=0 knotwork serve handbook.knot
    python benchmarks/service/maps.py http://127.0.0.1:8321 default

The first request is reported alone: it reads the graph, and places what has no place yet.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Callable
from itertools import cycle

import httpx2 as httpx

TIMES = 60


def measure(ask: Callable[[], httpx.Response]) -> dict[str, float]:
    """Return milliseconds and the largest size of answers, over one connection that is kept."""
    taken, sizes = [], []
    for _ in range(TIMES):
        begun = time.perf_counter()
        response = ask()
        taken.append(1_000 * (time.perf_counter() - begun))
        if response.status_code not in (200, 304):
            raise SystemExit(response.text)
        sizes.append(len(gzip.compress(response.content)))
    return {
        "median_ms": round(statistics.median(taken), 1),
        "p95_ms": round(statistics.quantiles(taken, n=20)[-1], 1),
        "largest_kb_gzip": round(max(sizes) / 1_000, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("workspace")
    asked = parser.parse_args()
    base = f"{asked.url}/api/v1/workspaces/{asked.workspace}/graph"
    with httpx.Client(timeout=300) as client:
        begun = time.perf_counter()
        first = client.get(base)
        rows = {"first": {"seconds": round(time.perf_counter() - begun, 2)}}
        data = first.json()["data"]
        drawn = data["part"]["entities"]["id"]
        entities = cycle(drawn)
        communities = cycle([each["id"] for each in data["communities"]] or [""])
        tag = {"If-None-Match": first.headers["etag"]}
        rows |= {
            "map": measure(lambda: client.get(base)),
            "map, unchanged": measure(lambda: client.get(base, headers=tag)),
            "map, 2,000": measure(lambda: client.get(base, params={"limit": 2_000, "minor": True})),
            "a community": measure(
                lambda: client.get(base, params={"community": next(communities)})
            ),
            "neighbours": measure(
                lambda: client.post(
                    f"{base}/neighbours", json={"entities": [next(entities)], "known": drawn}
                )
            ),
            "3 steps around": measure(
                lambda: client.post(
                    f"{base}/neighbours", json={"entities": [next(entities)], "depth": 3}
                )
            ),
            "an entity": measure(lambda: client.get(f"{base}/entities/{next(entities)}")),
        }
    print(f"{data['entities']:,} entities, {data['relations']:,} relations")
    for name, row in rows.items():
        print(f"{name:22} {json.dumps(row)}")


if __name__ == "__main__":
    main()
