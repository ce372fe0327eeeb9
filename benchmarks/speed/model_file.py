"""Measure how fast llama.cpp writes with a model file, while other programs use the processor too.

    python benchmarks/speed/model_file.py MODEL.gguf [--limit 100]

Starts the process that serves `gguf:` models, with all cores, and lets it write 96 tokens behind
270 tokens of prompt: alone, beside one and two programs that never rest, and with libgomp's own
waits between the threads as well as with those that Knotwork sets. Prints tokens per second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

KEY = "a key"
PROMPT = "Write a long story about a bridge. " * 30
OWN_WAITS = {"GOMP_SPINCOUNT": "300000"}
"""What libgomp does without this variable."""
BUSY = [sys.executable, "-c", "while True: pass"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--limit", type=float, default=100, help="seconds of a run")
    options = parser.parse_args()
    print("| other programs | waits | prompt, tokens/s | reply, tokens/s |")
    print("|--:|---|--:|--:|")
    for others in range(3):
        for name, waits in (("libgomp", OWN_WAITS), ("Knotwork", {})):
            with ExitStack() as stack:
                for _ in range(others):
                    stack.enter_context(running(BUSY))
                url = stack.enter_context(serve(options.model, waits))
                speeds = measure(url, options.limit)
            print(f"| {others} | {name} | {' | '.join(speeds)} |", flush=True)


@contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def serve(model: Path, waits: dict[str, str]) -> Iterator[str]:
    told = {"path": str(model), "alias": "m", "context": 2_048, "threads": 0, "key": KEY}
    command = [sys.executable, "-m", "knotwork._extensions.local_models.gguf_process"]
    pipe = subprocess.PIPE
    with running(command, stdin=pipe, stdout=pipe, env=os.environ | waits) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
        yield process.stdout.readline().decode().strip()


def measure(url: str, limit_s: float) -> list[str]:
    """Return the tokens per second of the prompt and of the reply."""
    body = {
        "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 96, "temperature": 0,
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), headers
    )
    with (
        suppress(TimeoutError),
        urllib.request.urlopen(request, timeout=limit_s) as reply,
    ):
        timings = json.load(reply)["timings"]
        return [f"{timings[f'{kind}_per_second']:.0f}" for kind in ("prompt", "predicted")]
    return ["", f"less than {96 / limit_s:.0f}"]


if __name__ == "__main__":
    main()
