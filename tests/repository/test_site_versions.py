"""The list of versions of the site has the sites that were built, and nothing else."""

import runpy
from pathlib import Path

from tests.repository.pages import ROOT

BUILD = runpy.run_path(str(ROOT / "docker/site/build.py"))


def test_only_built_versions_are_listed_the_newest_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.10.0rc2", "0.10.0rc1", "assets", "0.8.0-broken", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    (tmp_path / "0.7.0").mkdir()
    (tmp_path / "index.html").touch()
    assert BUILD["built_versions"](tmp_path) == ["0.10.0", "0.10.0rc2", "0.10.0rc1", "0.9.0"]


def test_a_first_version_is_listed(tmp_path: Path) -> None:
    (tmp_path / "1.0.0").mkdir()
    (tmp_path / "1.0.0/index.html").touch()
    assert BUILD["built_versions"](tmp_path) == ["1.0.0"]
