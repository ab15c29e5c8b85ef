"""Packages of other authors, as installed ones: their modules and metadata in a folder."""

import tomllib
from pathlib import Path


def install(package: Path, site: Path) -> None:
    """Write what `pip install` writes: the metadata of the package, next to its modules."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    metadata = site / f"{name}-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module in package.glob("*.py"):
        (site / module.name).write_text(module.read_text())
