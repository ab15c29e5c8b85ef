"""A build without a C compiler is pure Python and says so; a build that requires one fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.charts import ROOT

NOT_COMPILED = "The solver is not compiled, so it decides two and a half to five times slower"


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
    assert f"{NOT_COMPILED}: {cause}" in output


@pytest.mark.parametrize("choice", ["0", ""])
@pytest.mark.long
def test_pure_build_that_is_wanted_warns_of_nothing(choice: str, tmp_path: Path) -> None:
    code, wheels, output = build(tmp_path, TENURE_COMPILED=choice)
    assert (code, [name.endswith("-py3-none-any.whl") for name in wheels]) == (0, [True])
    assert "not compiled" not in output


@pytest.mark.long
@pytest.mark.timeout(300)
def test_install_on_a_machine_without_a_compiler_says_so_and_works(tmp_path: Path) -> None:
    programs, target = tmp_path / "bin", tmp_path / "installed"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "CC": "cc"}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--verbose", "--no-deps"]

    def run(*command: str, **variables: str) -> str:
        ended = subprocess.run(
            command, env={**environment, **variables}, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    said = run(*pip, "--no-build-isolation", "--target", str(target), str(ROOT))
    assert f"{NOT_COMPILED}: there is no C compiler (cc)" in said
    tenure = [sys.executable, "-m", "tenure.cli"]
    version = run(*tenure, "--version", PYTHONPATH=str(target))
    assert "interpreted" in version
    sample = target / "tenure/cli/samples/two-departments.yaml"
    assert "Scheduled" in run(*tenure, "decide", str(sample), PYTHONPATH=str(target))
