"""Measure how long a running server takes for views of the map of a workspace.

    KNOTWORK_SERVICE_REQUESTS_PER_MINUTE=0 knotwork serve handbook.knot
    python benchmarks/service/maps.py http://127.0.0.1:8321 default

The first request is told apart: it draws the map, unless it is kept beside the index already.
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
        communities = cycle(data["communities"]["id"])
        largest = f"{base}/communities/{data['communities']['id'][0]}"
        drawn = client.get(largest, params={"limit": 40}).json()["data"]["part"]["entities"]["id"]
        entities = cycle(drawn)
        tag = {"If-None-Match": first.headers["etag"]}
        rows |= {
            "overview": measure(lambda: client.get(base)),
            "overview, filtered": measure(lambda: client.get(base, params={"weight": 2})),
            "overview, unchanged": measure(lambda: client.get(base, headers=tag)),
            "a community": measure(lambda: client.get(f"{base}/communities/{next(communities)}")),
            "the largest, 2,000": measure(lambda: client.get(largest, params={"limit": 2_000})),
            "neighbours": measure(
                lambda: client.post(
                    f"{base}/neighbours", json={"entity": next(entities), "known": drawn}
                )
            ),
            "an entity": measure(lambda: client.get(f"{base}/entities/{next(entities)}")),
        }
    print(f"{data['entities']:,} entities, {data['relations']:,} relations")
    for name, row in rows.items():
        print(f"{name:22} {json.dumps(row)}")


if __name__ == "__main__":
    main()
