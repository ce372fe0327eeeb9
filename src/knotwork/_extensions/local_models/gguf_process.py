"""Serve a GGUF model file with llama.cpp; run as a child process by `server.py`.

The options come as one line of JSON on standard input. The address goes to standard output once the
model is loaded. The process ends when standard input closes: with the process that started it,
however that one ended.
"""

from __future__ import annotations

import json
import os
import sys

_TO_PARENT = 1
"""The descriptor of standard output: a pipe that the parent reads."""
_ERRORS_ONLY = 1
_PING_S = 10
"""Seconds between the signs of life of a streamed reply that has not begun."""
_SHORT_WAITS = "1000"
"""How long a thread waits for the others before it sleeps, in turns of a loop.

libgomp's own waits slow all threads down while other programs use the processor:
`benchmarks/results/models.md`.
"""


def main() -> None:
    """Serve until standard input closes."""
    options = json.loads(sys.stdin.readline())
    os.environ.setdefault("GOMP_SPINCOUNT", _SHORT_WAITS)  # read by libgomp when it is loaded
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = options["path"]
    params.model_alias = {options["alias"]}
    params.n_ctx = options["context"]
    params.n_parallel = 1
    params.ctx_shift = False  # an overlong request is an error, not silently forgotten
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.api_keys = [options["key"]]
    params.ui = False
    params.verbosity = _ERRORS_ONLY
    params.sse_ping_interval = _PING_S
    if options["threads"]:
        params.cpuparams.n_threads = options["threads"]
    try:
        server = Server(params)
    except RuntimeError as error:
        sys.exit(str(error))
    os.write(_TO_PARENT, f"{server.listening_address}\n".encode())
    sys.stdin.read()
    os._exit(0)  # nobody waits for the calls that still run


if __name__ == "__main__":
    main()
