"""Builds the documentation of this version as a site, beside those of other versions: dist/site/VERSION.
The first page leads to the newest one that is no release candidate.

Fails for a broken link, a missing anchor, and a page that docs/README.md does not name.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from packaging.version import Version

ROOT: Final = Path(__file__).parents[2]
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")
_INDEX: Final = '<!doctype html><meta http-equiv="refresh" content="0; url={0}/index.html">\n'


def build(folder: Path) -> int:
    """Build into a folder for all versions; returns the exit status of mkdocs."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    command = [Path(sys.executable).parent / "mkdocs", "build", "--config-file"]
    command += [ROOT / "docker/site/mkdocs.yml", "--site-dir", folder / version]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    messages = [line for line in ended.stderr.splitlines() if line.strip() and not line.startswith("INFO")]
    print("\n".join(messages), end="\n" * bool(messages))
    if ended.returncode:
        return ended.returncode
    versions = built_versions(folder)
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]
    (folder / "versions.json").write_text(json.dumps(listed))
    released = [name for name in versions if not Version(name).is_prerelease]
    (folder / "index.html").write_text(_INDEX.format((released or versions)[0]))
    return 0


def built_versions(folder: Path) -> list[str]:
    """Versions whose site is in the folder, the newest first; whatever else lies there is no version."""
    names = [path.parent.name for path in folder.glob("*/index.html")]
    return newest_first(filter(_VERSION.fullmatch, names))


def newest_first(versions: Iterable[str]) -> list[str]:
    """Versions in the order of releases: 0.2.0, its release candidate 0.2.0rc1, 0.1.0."""
    return sorted(versions, key=Version, reverse=True)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve()))
