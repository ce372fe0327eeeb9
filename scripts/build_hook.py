"""Build the web pages before a wheel that would lack them, or have old ones.

Without Node.js, or if the build fails, the wheel has no pages, a warning says why, and
`knotwork serve` says how to get them. An editable install builds nothing: it uses what
`python3 scripts/build_web.py` built.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = ("src", "public", "index.html", "package-lock.json", "vite.config.ts")


class WebPages(BuildHookInterface):  # type: ignore[type-arg]
    """The step of hatchling that runs before the files of a wheel are chosen."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages unless they are there, and as new as their sources."""
        del build_data
        root = Path(self.root)
        pages = root / "src" / "knotwork" / "_extensions" / "server" / "web" / "index.html"
        if version == "editable" or self.target_name != "wheel" or is_current(pages, root / "web"):
            return
        script = root / "scripts" / "build_web.py"
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            self.app.display_warning(f"The web pages of `knotwork serve` were not built: {reason}")


def is_current(pages: Path, web: Path) -> bool:
    """Return True if the built pages are newer than each of their sources, if there are any."""
    built = pages.stat().st_mtime if pages.is_file() else 0.0
    sources = [web / name for name in SOURCES]
    files = [file for source in sources for file in [source, *source.rglob("*")] if file.is_file()]
    return all(file.stat().st_mtime <= built for file in files)
