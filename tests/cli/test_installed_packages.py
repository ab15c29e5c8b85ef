"""Packages that fail to import name themselves in one line, and break nothing that does not use them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, SAMPLE
from tests.small_snapshot import child_environment

FAILURES = {
    "import tenure_broken.missing\n": "ModuleNotFoundError: No module named 'tenure_broken.missing'; ",
    "raise RuntimeError('no licence\\nask for one')\n": "RuntimeError: no licence ask for one",
    "import sys\nsys.exit('stop')\n": "SystemExit: stop",
    "this is no Python\n": "SyntaxError: invalid syntax",
    "": "AttributeError: module 'tenure_broken' has no attribute 'it'",
    "it = 3\n": "TypeError: it is not a class or a function",
}

_ORDINARY = "it = 3\n"
CODE = [pytest.param(code, marks=() if code == _ORDINARY else pytest.mark.long) for code in FAILURES]
"""One of them is among the ordinary tests, since each starts processes."""


def install(site: Path, group: str, code: str, name: str = "broken") -> None:
    """Install a package with one module and one entry point of a group."""
    metadata = site / "tenure_broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tenure-broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = tenure_broken:it\n")
    (site / "tenure_broken.py").write_text(code)


def with_packages(site: Path) -> dict[str, str]:
    environment = child_environment()
    return {**environment, "PYTHONPATH": f"{site}:{environment['PYTHONPATH']}"}


def tenure(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tenure.cli", *arguments],
        cwd=ROOT,
        env=with_packages(site),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("code", CODE)
def test_broken_plugin_is_an_error_of_the_configuration_that_names_it(code: str, tmp_path: Path) -> None:
    install(tmp_path, "tenure.plugins", code)
    file = tmp_path / "tenure.yaml"
    file.write_text("plugins: {broken: {}}\n")
    ended = tenure(tmp_path, "decide", str(SAMPLE), "--config", str(file))
    assert ended.returncode == 2
    (line,) = (line for line in ended.stderr.splitlines() if "broken" in line)
    assert "broken of tenure-broken 1.0 cannot be loaded: tenure_broken:it: " in line
    assert FAILURES[code].removesuffix("; ") in line
    assert "Traceback" not in ended.stderr
    assert tenure(tmp_path, "decide", str(SAMPLE)).returncode == 0


@pytest.mark.parametrize("code", CODE)
def test_broken_command_fails_alone(code: str, tmp_path: Path) -> None:
    install(tmp_path, "tenure.commands", code)
    ended = tenure(tmp_path, "broken", "--option", "argument")
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("tenure: broken of tenure-broken 1.0 cannot be loaded: tenure_broken:it: ")
    assert FAILURES[code].removesuffix("; ") in line
    assert "broken" in tenure(tmp_path, "--help").stdout
    assert tenure(tmp_path, "decide", str(SAMPLE)).returncode == 0


def test_server_names_a_broken_plugin_and_serves(tmp_path: Path) -> None:
    install(tmp_path, "tenure.plugins", "import tenure_broken.missing\n")
    command = (sys.executable, "-m", "tenure.cli", "serve", "--listen", "127.0.0.1:0", "--no-records")
    environment = with_packages(tmp_path)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        address = server.stdout.readline()
        server.terminate()
        _, errors = server.communicate(timeout=60)
    assert address.startswith("tenure: serving on 127.0.0.1:")
    (line,) = errors.splitlines()
    assert "not available: broken of tenure-broken 1.0 cannot be loaded: tenure_broken:it: " in line


@pytest.mark.parametrize("code", CODE)
def test_broken_importer_is_an_error_that_names_it(code: str, tmp_path: Path) -> None:
    install(tmp_path, "tenure.importers", code, name="kai")
    ended = tenure(tmp_path, "import", "kai", "snapshot.zip")
    assert ended.returncode == 2
    assert "kai of tenure-broken 1.0 cannot be loaded: tenure_broken:it: " in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
