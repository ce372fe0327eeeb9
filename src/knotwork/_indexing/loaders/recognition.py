"""Whether the text in pictures can be recognised in this installation."""

from __future__ import annotations

from importlib.util import find_spec

EXTRA = "ocr"
INSTALL = f"pip install 'knotwork[{EXTRA}]', then index with `--retry`."
_PACKAGES = ("rapidocr", "onnxruntime", "PIL")


def is_available() -> bool:
    """Return True if the packages of the extra are installed."""
    return all(find_spec(package) is not None for package in _PACKAGES)
