"""Every check of this project. `python3 -m nox` runs them all, `python3 -m nox -s types` one.

The sessions use the environment that runs nox: install `.[local,dev]` into it first.
"""

from __future__ import annotations

import sys
import tempfile
import venv
from pathlib import Path
from sysconfig import get_paths

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "none"
nox.options.stop_on_first_error = False

ROOT = Path(__file__).parent
CHECKED = ("src", "tests", "scripts", "benchmarks", "noxfile.py")
WARNING_LINES, MOST_LINES = 350, 500


def paths() -> list[str]:
    """Return what is checked of the source tree, where it is there."""
    return [name for name in CHECKED if (ROOT / name).exists()]


def run_module(session: nox.Session, name: str, *arguments: str) -> None:
    """Run a module with the Python that runs nox."""
    session.run(sys.executable, "-m", name, *arguments)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    run_module(session, "ruff", "check", *paths())
    run_module(session, "ruff", "format", "--check", *paths())


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    run_module(session, "mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Check that imports only point down."""
    session.run(sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()")


@nox.session
def sizes(session: nox.Session) -> None:
    """Check that files stay short: warn above 350 lines, fail above 500."""
    files = [file for name in paths() for file in find_modules(ROOT / name)]
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    long = {file: count for file, count in lines.items() if count > WARNING_LINES}
    for file, count in sorted(long.items()):
        session.warn(f"{file.relative_to(ROOT)} has {count} lines")
    if max(lines.values()) > MOST_LINES:
        session.error(f"no file may have more than {MOST_LINES} lines")


def find_modules(place: Path) -> list[Path]:
    """Return the Python files at or below a place."""
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, in random order, with warnings as errors."""
    run_module(session, "pytest", "-q", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it apart from the source tree, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run_module(session, "build", "--no-isolation", "--wheel", "--outdir", folder)
        (built,) = place.glob("*.whl")
        python = make_environment(place / "venv")
        session.run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q",
                    "--no-deps", "--no-index", str(built))  # fmt: skip
        session.chdir(folder)
        check = f"import knotwork; assert knotwork.__file__.startswith({str(place)!r})"
        session.run(str(python), "-c", check)
        session.run(str(python.with_name("knotwork")), "--version")
        without_model = {"KNOTWORK_EMBEDDING_MODEL": "none"}
        session.run(str(python), "-m", "knotwork", "demo", env=without_model, silent=True)


def make_environment(place: Path) -> Path:
    """Make a virtual environment that sees the libraries of this one, and return its Python.

    A plain --system-site-packages would show those of the Python that this environment was made
    from. A path line does not run the path files there, so an editable knotwork stays out of sight.
    """
    venv.create(place, symlinks=True)
    home = {"base": str(place), "platbase": str(place)}
    site_packages = Path(get_paths("venv", vars=home)["purelib"])
    own = sorted({get_paths()["purelib"], get_paths()["platlib"]})
    (site_packages / "libraries.pth").write_text("\n".join(own) + "\n", encoding="utf-8")
    scripts = Path(get_paths("venv", vars=home)["scripts"])
    return next(file for file in sorted(scripts.iterdir()) if file.stem == "python")
