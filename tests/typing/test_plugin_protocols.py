"""Mypy accepts right signatures of plugins and rejects wrong ones, for each protocol of the plugin API."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tenure.solver.framework.chains import POINTS

FOLDER: Final = Path(__file__).parent
ROOT: Final = FOLDER.parents[1]
PLUGIN_API: Final = ROOT / "server/tenure/solver/plugin_api"
PROTOCOLS: Final = [
    *re.findall(r"^class (\w+)\(Protocol\)", (PLUGIN_API / "points.py").read_text(), re.MULTILINE),
    *re.findall(r"^class (\w+)\(Protocol\)", (PLUGIN_API / "traits.py").read_text(), re.MULTILINE),
    "PluginFactory",
]


@pytest.fixture(scope="module")
def errors() -> set[tuple[str, str]]:
    """Files and error lines of one run of mypy over the folder; each line as its text in the file."""
    files = [FOLDER / "right_plugins.py", FOLDER / "wrong_plugins.py"]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, files)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = re.findall(r"^(\S+):(\d+): error: .*\[(\w[\w-]*)\]$", ran.stdout, re.MULTILINE)
    lines = {file.name: file.read_text().splitlines() for file in files}
    assert {code for _, _, code in found} == {"assignment"}, ran.stdout + ran.stderr
    return {(Path(file).name, lines[Path(file).name][int(line) - 1]) for file, line, _ in found}


def test_every_extension_point_has_a_protocol_with_both_implementations() -> None:
    assert len(PROTOCOLS) == len(POINTS) + 6
    for file in ("right_plugins.py", "wrong_plugins.py"):
        classes = re.findall(r"^class (\w+):", (FOLDER / file).read_text(), re.MULTILINE)
        assert sorted(classes) == sorted(PROTOCOLS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_wrong_signature_is_rejected(errors: set[tuple[str, str]], protocol: str) -> None:
    assert any(file == "wrong_plugins.py" and line.startswith(f"_{protocol}:") for file, line in errors), (
        protocol
    )


def test_right_signatures_are_accepted(errors: set[tuple[str, str]]) -> None:
    assert {file for file, _ in errors} == {"wrong_plugins.py"}
    assert len(errors) == len(PROTOCOLS)
