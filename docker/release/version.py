"""The version of Tenure: pyproject.toml has it, and every other place follows.

python docker/release/version.py                 # check that all places agree
python docker/release/version.py --set 0.2.0     # write it everywhere; the changelog gets a heading
python docker/release/version.py --tag v0.2.0    # check that a tag is this version and has notes
python docker/release/version.py --notes         # print what the changelog says of this version
"""

import argparse
import datetime
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_NUMBER: Final = r"\d+\.\d+\.\d+(?:rc\d+)?"
_SEMANTIC: Final = r"\d+\.\d+\.\d+(?:-rc\d+)?"
PLACES: Final = {
    "pyproject.toml": (r'^version = "{}"', r"tenure-kubernetes=={}", r"tenure-slurm=={}"),
    "client/tenure-kubernetes/pyproject.toml": (r'^version = "{}"', r'"tenure=={}"'),
    "client/tenure-slurm/pyproject.toml": (r'^version = "{}"', r'"tenure=={}"'),
    "docker/helm/tenure/Chart.yaml": (r"^version: {semantic}", r'^appVersion: "{}"'),
    "docker/manifests/kustomization.yaml": (r'newTag: "{}"',),
    "docker/manifests/tenure.yaml": (r'app\.kubernetes\.io/version: "{}"', r"image: tenure:{}"),
    "docs/operate/install.md": (r"registry\.example\.com/tenure:{}", r'newTag: "{}"'),
}
"""Patterns of the places that name the version, or its form for Helm; each occurs at least once."""
_UNRELEASED: Final = "## Unreleased\n"


def current() -> str:
    """The version that pyproject.toml has."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return version


def semantic(version: str) -> str:
    """A version as Semantic Versioning writes it, which Helm requires of charts: 0.2.0-rc1 for 0.2.0rc1."""
    return version.replace("rc", "-rc")


def disagreements(version: str) -> Iterator[str]:
    """Places that name another version, or none."""
    for name, patterns in PLACES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for pattern in patterns:
            found = re.findall(_group(pattern), text, re.MULTILINE)
            if not found:
                yield f"{name}: nothing matches {pattern.format('VERSION', semantic='VERSION')}"
            wanted = _form(pattern, version)
            yield from sorted({f"{name}: {other} instead of {wanted}" for other in found if other != wanted})


def write(version: str) -> None:
    """Write a version to all places, and give the unreleased changes its heading."""
    for name, patterns in PLACES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for pattern in patterns:
            wanted = _form(pattern, version)
            text = re.sub(_group(pattern), partial(_replaced, version=wanted), text, flags=re.MULTILINE)
        (ROOT / name).write_text(text, encoding="utf-8")
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if f"## {version} - " not in text:
        today = datetime.datetime.now(tz=datetime.UTC).date()
        changelog.write_text(text.replace(_UNRELEASED, f"{_UNRELEASED}\n## {version} - {today}\n", 1))


def _group(pattern: str) -> str:
    return pattern.format(f"({_NUMBER})", semantic=f"({_SEMANTIC})")


def _form(pattern: str, version: str) -> str:
    return semantic(version) if "{semantic}" in pattern else version


def _replaced(found: re.Match[str], version: str) -> str:
    begin, end = (place - found.start() for place in found.span(1))
    return found[0][:begin] + version + found[0][end:]


def problems_of_tag(tag: str) -> Iterator[str]:
    """Why a tag cannot be released."""
    version = current()
    if tag != f"v{version}":
        yield f"the tag is {tag}, and pyproject.toml has the version {version}"
    if not notes():
        yield f"CHANGELOG.md has no notes below '## {version} - DATE': --set {version} makes the heading"


def notes() -> str:
    """What the changelog says of this version; empty if it has no heading or nothing below it."""
    heading = rf"^## {re.escape(current())} - \d{{4}}-\d\d-\d\d\n"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", _changelog(), re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def main() -> int:
    """Exit status: 0 all agree; 1 something does not, or there are no notes; 2 not a version."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", metavar="VERSION", help="write this version to all places")
    parser.add_argument("--tag", help="check that this tag can be released")
    parser.add_argument("--notes", action="store_true", help="print the notes of this version")
    options = parser.parse_args()
    if options.notes:
        print(notes())
        return int(not notes())
    if options.set is not None:
        if not re.fullmatch(_NUMBER, options.set):
            parser.error(f"{options.set!r} is not a version such as 0.2.0 or 0.2.0rc1")
        write(options.set)
    problems = [*disagreements(current()), *(problems_of_tag(options.tag) if options.tag else ())]
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
