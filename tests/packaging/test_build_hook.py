"""A build without a C compiler is pure Python and says so; a build that requires one fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.charts import ROOT


def build(folder: Path, **variables: str) -> tuple[int, list[str], str]:
    """Build a wheel of this checkout: exit status, names of wheels, and output."""
    environment = {name: value for name, value in os.environ.items() if name != "TENURE_COMPILED"}
    command = [str(Path(sys.executable).parent / "hatchling"), "build", "--target", "wheel"]
    ended = subprocess.run(
        [*command, "--directory", str(folder)],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, [path.name for path in folder.glob("*.whl")], ended.stdout + ended.stderr


@pytest.mark.long
def test_build_without_a_compiler_is_pure_and_says_so(tmp_path: Path) -> None:
    code, wheels, output = build(tmp_path, CC="no-such-compiler")
    assert (code, [name.endswith("-py3-none-any.whl") for name in wheels]) == (0, [True])
    cause = "there is no C compiler (no-such-compiler)"
    assert f"The solver is not compiled, so it is four to five times slower: {cause}" in output


@pytest.mark.parametrize("choice", ["0", ""])
@pytest.mark.long
def test_pure_build_that_is_wanted_warns_of_nothing(choice: str, tmp_path: Path) -> None:
    code, wheels, output = build(tmp_path, TENURE_COMPILED=choice)
    assert (code, [name.endswith("-py3-none-any.whl") for name in wheels]) == (0, [True])
    assert "not compiled" not in output
