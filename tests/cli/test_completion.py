"""`tenure --install-completion` lets a shell complete commands and options."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_snapshot import child_environment

MAIN = "import sys; sys.argv[0] = 'tenure'; from tenure.cli.main import main; main()"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program under the name that users type."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        env=child_environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("typed", "completed"),
    {"tenure sim": "simulate", "tenure simulate --in": "--in-force", "tenure import k": "kai"}.items(),
)
def test_words_are_completed(typed: str, completed: str) -> None:
    words = typed.split()
    ended = run(_TENURE_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    assert completed in ended.stdout.split()


def test_completion_is_installed_for_the_shell_of_the_user(tmp_path: Path) -> None:
    ended = run(
        "--install-completion", "bash", HOME=str(tmp_path), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "bash completion installed" in ended.stdout
    assert "tenure.sh" in (tmp_path / ".bashrc").read_text()
