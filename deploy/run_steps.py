"""Carry out the steps of the Containerfile on this machine, where no container engine is there.

    sudo python3 deploy/run_steps.py

Each stage is a folder that `chroot` makes the root of its commands, with the system of this machine
(`/usr`, `/etc`, Node.js, Python) in place of the base image: versions and system packages are those
of this machine, and what the base images bring is not tested. Then the server is started as the
user of the image, and its health check runs. Settings of pip and npm in the environment are passed
on. It needs Linux and root, for `mount` and `chroot`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
IGNORED = ROOT / ".dockerignore"
SHARED = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", sys.base_prefix)
PASSED_ON = ("PIP_", "NPM_", "npm_", "SSL_CERT", "NODE_EXTRA", "HTTP", "HTTPS", "NO_PROXY")
HEALTHY_S = 120.0
_CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"
KNOWN = frozenset(
    {
        *("FROM", "WORKDIR", "COPY", "RUN", "ENV", "VOLUME", "USER"),
        *("EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }
)


class Step(NamedTuple):
    """One instruction of a Containerfile, such as RUN, and the text after it."""

    instruction: str
    text: str


@dataclass(slots=True)
class Stage:
    """One stage of the image, and what its steps have set. ``name`` is "" for the last one."""

    name: str
    base: str
    steps: list[Step] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = ""
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def read_steps(text: str) -> list[Step]:
    """Return the instructions of a Containerfile. Raises ValueError for one that is not known."""
    plain = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    steps = []
    for line in re.sub(r"\\\n\s*", "", plain).splitlines():
        if line.strip():
            instruction, _, rest = line.strip().partition(" ")
            if instruction not in KNOWN:
                raise ValueError(f"`{instruction}` is not an instruction that is used here.")
            steps.append(Step(instruction, rest.strip()))
    return steps


def read_stages(text: str) -> list[Stage]:
    """Return the stages of a Containerfile, with what sets the environment of each."""
    stages: list[Stage] = []
    for step in read_steps(text):
        if step.instruction == "FROM":
            base, _, name = step.text.partition(" AS ")
            stages.append(Stage(name, base))
            continue
        stage = stages[-1]
        stage.steps.append(step)
        if step.instruction == "ENV":
            for pair in shlex.split(step.text):
                name, _, value = pair.partition("=")
                stage.env[name] = value
        elif step.instruction == "ENTRYPOINT":
            stage.entry = json.loads(step.text)
        elif step.instruction == "CMD":
            stage.command = json.loads(step.text)
        elif step.instruction == "HEALTHCHECK":
            stage.health = json.loads(step.text.partition(" CMD ")[2])
    return stages


def main() -> None:
    """Build all stages, start the server and check its health."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where to build; kept if it is named")
    parser.add_argument(
        "--bind", action="append", default=[], help="another folder to show, such as a mirror"
    )
    options = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0:
        sys.exit("This needs Linux and root, for mount and chroot.")
    with ExitStack() as open_:
        folder = options.folder or Path(open_.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        built: dict[str, Path] = {}
        stages = read_stages(CONTAINERFILE.read_text(encoding="utf-8"))
        for number, stage in enumerate(stages):
            root = folder / (stage.name or "image")
            print(f"stage {number + 1} of {len(stages)}: {stage.base}", flush=True)
            with mounted(root, options.bind):
                for step in stage.steps:
                    carry_out(step, stage, root, built)
            built[stage.name] = root
        image = folder / "image"
        size = sum(f.lstat().st_size for f in (image / "opt").rglob("*") if not f.is_dir())
        print(f"/opt has {size / 1e6:,.0f} MB")
        with mounted(image, ()):
            check_server(stages[-1], image)


@contextmanager
def mounted(root: Path, more: Sequence[str]) -> Iterator[None]:
    """Make a folder look like a system in the block."""
    places: list[Path] = []
    for name in ("tmp", "root"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    try:
        for shared in (*SHARED, *more):
            source, place = Path(shared), root / shared.lstrip("/")
            if source.is_symlink():
                with suppress(FileExistsError):
                    place.symlink_to(source.readlink())
                continue
            if source.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                subprocess.run(["mount", "--bind", source, place], check=True)
                places.append(place)
        yield
    finally:
        for place in reversed(places):
            subprocess.run(["umount", "--lazy", place], check=True)


def carry_out(step: Step, stage: Stage, root: Path, built: Mapping[str, Path]) -> None:
    """Carry out one step, and print it with the time that it took."""
    start = time.monotonic()
    if step.instruction == "WORKDIR":
        stage.folder = step.text
        inside(root, step.text).mkdir(parents=True, exist_ok=True)
    elif step.instruction == "USER":
        stage.user = step.text
    elif step.instruction == "COPY":
        copy(step.text, stage, root, built)
    elif step.instruction == "RUN":
        done = subprocess.run(in_root(stage, root, ["sh", "-c", step.text]), check=False)
        if done.returncode:
            sys.exit(f"The step failed with status {done.returncode}: {step.text}")
    print(f"  {time.monotonic() - start:6.1f} s  {step.instruction} {step.text[:90]}", flush=True)


def copy(text: str, stage: Stage, root: Path, built: Mapping[str, Path]) -> None:
    """Copy files of the source tree that are not ignored, or of an earlier stage."""
    words = shlex.split(text)
    origin, ignored = ROOT, GitIgnoreSpec.from_lines(IGNORED.read_text("utf-8").splitlines())
    if words[0].startswith("--from="):
        origin, ignored = built[words.pop(0).removeprefix("--from=")], GitIgnoreSpec.from_lines([])
    *sources, target = words
    place = inside(root, str(Path(stage.folder) / target))
    for source in sources:
        path = inside(origin, source)
        if not path.exists():
            sys.exit(f"`{source}`, which a step copies, does not exist.")
        if path.is_file():
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
            continue

        def is_ignored(folder: str, names: Sequence[str], origin: Path = origin) -> set[str]:
            below = Path(folder).relative_to(origin)
            return {
                name
                for name in names
                if ignored.match_file(f"{below / name}{'/' * (Path(folder) / name).is_dir()}")
            }

        shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True, ignore=is_ignored)


def inside(root: Path, path: str) -> Path:
    """Return a path of a stage, or of the source tree, as this machine has it."""
    return root / path.lstrip("/")


def in_root(stage: Stage, root: Path, command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command as the image would."""
    plain = {"PATH": f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    env = [f"{name}={value}" for name, value in {**plain, **passed, **stage.env}.items()]
    user = [f"--userspec={stage.user}", "--groups="] if stage.user else []
    change = 'cd "$0" && exec "$@"'
    return [
        *("env", "--ignore-environment", *env),
        *(_CHROOT, *user, str(root), "sh", "-c", change, stage.folder, *command),
    ]


def check_server(stage: Stage, root: Path) -> None:
    """Add a key, start the server, wait until it is healthy, and end it."""
    key = in_root(stage, root, [*stage.entry, "keys", "add", "check", "--place", "/data"])
    subprocess.run(key, check=True, stdout=subprocess.DEVNULL)
    start = time.monotonic()
    server = subprocess.Popen(in_root(stage, root, [*stage.entry, *stage.command]))
    try:
        check = in_root(stage, root, stage.health)
        while subprocess.run(check, check=False, stderr=subprocess.DEVNULL).returncode:
            if server.poll() is not None or time.monotonic() - start > HEALTHY_S:
                sys.exit("The server did not become healthy.")
            time.sleep(0.2)
        print(f"healthy after {time.monotonic() - start:.1f} s", flush=True)
        server.send_signal(signal.SIGTERM)
        status = server.wait(10)
        print(f"ended with status {status} on SIGTERM")
        if status:
            sys.exit(1)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
