"""Builds the documentation of this version as a site, beside those of other versions: dist/site/VERSION.

Fails for a broken link, a missing anchor, and a page that docs/README.md does not name.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_INDEX: Final = '<!doctype html><meta http-equiv="refresh" content="0; url={0}/index.html">\n'


def build(folder: Path) -> int:
    """Build into a folder for all versions; returns the exit status of mkdocs."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    command = [Path(sys.executable).parent / "mkdocs", "build", "--config-file"]
    command += [ROOT / "docker/site/mkdocs.yml", "--site-dir", folder / version]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    told = [line for line in ended.stderr.splitlines() if line.strip() and not line.startswith("INFO")]
    print("\n".join(told), end="\n" * bool(told))
    if ended.returncode:
        return ended.returncode
    versions = sorted((path.name for path in folder.iterdir() if path.is_dir()), key=_order, reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]
    (folder / "versions.json").write_text(json.dumps(listed))
    (folder / "index.html").write_text(_INDEX.format(versions[0]))
    return 0


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve()))
