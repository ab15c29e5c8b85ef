"""Pins what is installed for development, in the image and for releases: docker/locks.

A lock has hashes, and versions for all platforms.

Existing pins stay unless pyproject.toml excludes them, or --upgrade is given. The image has the versions of
the development environment, so that what is shipped is what the tests ran with.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docker/locks"
PROJECTS: Final = (
    "pyproject.toml",
    "client/tenure-kubernetes/pyproject.toml",
    "client/tenure-slurm/pyproject.toml",
)
DEVELOPMENT: Final = "development.txt"
LOCKS: Final = {
    DEVELOPMENT: ("pyproject.toml", "--extra", "dev", "--group", "build"),
    "image.txt": ("pyproject.toml", "--extra", "console", "--extra", "telemetry", "--extra", "kubernetes"),
    "build.txt": ("--group", "build"),
    "release.txt": ("--group", "release", "--group", "build"),
}
"""Inputs of each lock, as arguments of uv."""
_ALWAYS: Final = (
    *("--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *(word for own in ("tenure", "tenure-kubernetes", "tenure-slurm") for word in ("--no-emit-package", own)),
    *("--custom-compile-command", "make lock"),
)


def resolve(upgrade: bool) -> dict[str, bytes]:
    """Content of each lock. Works on a copy of what uv reads. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in (*PROJECTS, *(f"docker/locks/{lock}" for lock in LOCKS)):
            if (ROOT / name).exists():
                Path(scratch, name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, Path(scratch, name))
        return {name: _resolve(name, Path(scratch), upgrade) for name in LOCKS}


def _resolve(name: str, folder: Path, upgrade: bool) -> bytes:
    constraints = () if name == DEVELOPMENT else ("--constraints", f"docker/locks/{DEVELOPMENT}")
    command = [
        *(str(Path(sys.executable).parent / "uv"), "pip", "compile", *_ALWAYS, *LOCKS[name], *constraints),
        *(("--upgrade",) if upgrade else ()),
        *("--output-file", f"docker/locks/{name}"),
    ]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return (folder / "docker/locks" / name).read_bytes()


def main() -> int:
    """Exit status: 0 done; 1 --check found a lock that is out of date; 2 nothing can be resolved here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that are permitted")
    parser.add_argument("--check", action="store_true", help="write nothing; name locks that are out of date")
    options = parser.parse_args()
    try:
        resolved = resolve(options.upgrade)
    except subprocess.CalledProcessError as failure:
        print(f"uv ended with {failure.returncode}: no lock was checked", file=sys.stderr)
        return 2
    different = [name for name, content in resolved.items() if not _has_content(FOLDER / name, content)]
    for name in different:
        if options.check:
            print(f"docker/locks/{name} is out of date: make lock")
        else:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_bytes(resolved[name])
    return int(options.check and bool(different))


def _has_content(file: Path, content: bytes) -> bool:
    return file.exists() and file.read_bytes() == content


if __name__ == "__main__":
    sys.exit(main())
