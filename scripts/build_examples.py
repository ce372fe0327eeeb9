"""Run the notebooks of examples/ and write what their cells show into them.

Run it after a change to one: `python scripts/build_examples.py`. A test compares the notebooks with
what this writes. It needs no Jupyter: cells are plain Python, with ``await`` where they like.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import inspect
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knotwork._extensions.notebook import VIEWED_TYPES, render_html

EXAMPLES = Path(__file__).parents[1] / "examples"
REPR_CHARACTERS = 300
SECONDS = re.compile(r"seconds=[\d.e-]+")

Cell = dict[str, Any]


def main() -> None:
    """Run every notebook and rewrite it."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        rewritten = json.dumps(run_notebook(notebook), ensure_ascii=False, indent=1)
        path.write_text(rewritten + "\n", encoding="utf-8")


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells, run in order in a namespace of their own."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with asyncio.Runner() as runner:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                cells.append(cell)
                continue
            count += 1
            outputs = list(_run_cell("".join(cell["source"]), namespace, runner, count))
            cells.append({**cell, "execution_count": count, "outputs": outputs})
    return {**notebook, "cells": cells}


def _run_cell(
    source: str, namespace: dict[str, Any], runner: asyncio.Runner, count: int
) -> Iterator[Cell]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _evaluate(ast.Module(tree.body, []), "exec", namespace, runner)
        shown = None
        if isinstance(last, ast.Expr):
            shown = _evaluate(ast.Expression(last.value), "eval", namespace, runner)
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        yield {"name": "stdout", "output_type": "stream", "text": lines}
    if shown is not None:
        yield {
            "data": _show(shown),
            "execution_count": count,
            "metadata": {},
            "output_type": "execute_result",
        }


def _evaluate(
    tree: ast.Module | ast.Expression, mode: str, namespace: dict[str, Any], runner: asyncio.Runner
) -> Any:  # noqa: ANN401 - a cell may end in anything
    code = compile(tree, "<cell>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, namespace)  # noqa: S307 - these are our own notebooks
    if not inspect.iscoroutine(result):
        return result

    async def wait() -> Any:  # noqa: ANN401
        return await result

    return runner.run(wait())


def _show(value: Any) -> dict[str, list[str]]:  # noqa: ANN401
    plain = repr(value)
    if len(plain) > REPR_CHARACTERS:
        # A time of more digits must not move the place where the text is cut.
        plain = SECONDS.sub("seconds=…", plain)[:REPR_CHARACTERS] + " …"
    data = {"text/plain": plain.splitlines(keepends=True)}
    if isinstance(value, VIEWED_TYPES):
        data["text/html"] = render_html(value).splitlines(keepends=True)
    return data


if __name__ == "__main__":
    main()
