"""Distributions with entry points, installed into a folder for one test."""

from pathlib import Path


def install(
    folder: Path,
    name: str,
    groups: dict[str, dict[str, str]],
    *,
    version: str = "1.0",
    modules: dict[str, str] | None = None,
) -> Path:
    """Write the metadata of a distribution, and its modules, as an installer would."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in points.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for module, text in (modules or {}).items():
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text(text, encoding="utf-8")
    return folder
