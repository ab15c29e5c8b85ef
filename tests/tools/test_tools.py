"""Tools are built when they are missing or older than their sources, after those that their build needs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks import CannotRun
from tests.tools import catalog
from tests.tools.tool import Tool, is_newer


def _tool(
    name: str, build: Callable[[], None], *, is_current: bool = False, after: tuple[str, ...] = ()
) -> Tool:
    return Tool(name, "", "", (), lambda: is_current, build, after)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of tools in the order in which they are built."""
    names: list[str] = []
    tools = (
        _tool("there", lambda: names.append("there"), is_current=True),
        _tool("first", lambda: names.append("first")),
        _tool("second", lambda: names.append("second"), after=("there", "first")),
        _tool("broken", _fail),
    )
    monkeypatch.setattr(catalog, "TOOLS", tools)
    return names


def _fail() -> None:
    raise subprocess.CalledProcessError(3, ["compiler", "source"])


def test_missing_tools_are_built_in_order(built: list[str]) -> None:
    catalog.provide(["there", "second"])
    assert built == ["first", "second"]


def test_failed_build_names_its_command(built: list[str]) -> None:
    with pytest.raises(CannotRun, match="the build of broken failed: compiler source: exit 3"):
        catalog.provide(["broken"])


def test_file_is_newer_than_its_sources_until_one_changes(tmp_path: Path) -> None:
    made, source = tmp_path / "made", tmp_path / "source.go"
    assert not is_newer(made)
    source.touch()
    os.utime(source, (100, 100))
    made.touch()
    pattern = os.path.relpath(source, catalog.ROOT)
    os.utime(made, (100, 100))
    assert is_newer(made, pattern)
    os.utime(source, (101, 101))
    assert not is_newer(made, pattern)
