"""Build the web pages into the package: `python3 scripts/build_web.py`.

It needs Node.js 20.19 or newer with npm, and the registry of npm the first time. With `--check` it
checks types, style and units before. The pages go where the server and the wheel look for them.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "knotwork" / "_extensions" / "server" / "web"
LEAST_NODE = (20, 19)


def main() -> None:
    """Install what the build needs, and build."""
    parser = argparse.ArgumentParser(description="Build the web pages into the package.")
    parser.add_argument("--check", action="store_true", help="check types, style and units before")
    checking = parser.parse_args().check
    missing = missing_tool()
    if missing:
        sys.exit(f"{missing} Get it from nodejs.org or your system, and run this again.")
    if not is_installed():
        run_npm("ci", "--no-audit", "--no-fund")
    if checking:
        run_npm("run", "check")
        run_npm("test")
    run_npm("run", "build")
    if not (BUILT / "index.html").is_file():
        sys.exit(f"The build made no {BUILT / 'index.html'}.")


def missing_tool() -> str:
    """Return what is not there that the build needs, as a sentence; nothing when all is."""
    least = ".".join(map(str, LEAST_NODE))
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return f"Node.js {least} or newer, with npm, is not there: it builds the web pages."
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    version = re.match(r"v(\d+)\.(\d+)", told.stdout)
    if version is None or (int(version[1]), int(version[2])) < LEAST_NODE:
        return f"Node.js is {told.stdout.strip()}, and the web pages need {least} or newer."
    return ""


def is_installed() -> bool:
    """Return True if the packages of the lock file are installed, in the versions that it names."""
    kept = WEB / "node_modules" / ".package-lock.json"
    if not kept.is_file():
        return False
    wanted, installed = _packages(WEB / "package-lock.json"), _packages(kept)
    return all(
        path in installed and installed[path].get("version") == package.get("version")
        for path, package in wanted.items()
        if path and not package.get("optional")
    )


def run_npm(*arguments: str) -> None:
    """Run npm in the folder of the pages; leave with its status when it fails."""
    npm = shutil.which("npm")
    assert npm is not None
    done = subprocess.run([npm, *arguments], cwd=WEB, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def _packages(lock: Path) -> dict[str, dict[str, Any]]:
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return packages


if __name__ == "__main__":
    main()
