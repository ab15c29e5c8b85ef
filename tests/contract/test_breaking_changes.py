"""Breaking changes of the protos are detected: against a release, kept protos and the previous commit."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compatibility.stored_files import CONTRACT
from tests.tools.catalog import BUF

ROOT = Path(__file__).parents[2]
FIELD = "  // Unique name.\n  string name = 1;\n  // Name of the parent queue"
pytestmark = pytest.mark.skipif(
    not BUF.exists(), reason=f"{BUF} is not there: python -m tests build buf (needs Node)"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A separate repository whose only commit contains the protos of this one."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/breaking", tmp_path / ".ci")
    shutil.copytree(ROOT / "protos", tmp_path / "protos", ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "m")


def remove_a_field(folder: Path) -> None:
    file = folder / "protos/tenure/v1/snapshot.proto"
    text = file.read_text()
    assert text.count(FIELD) == 1
    file.write_text(text.replace(FIELD, "  // Name of the parent queue"))


def run_check(folder: Path) -> tuple[int, str]:
    ran = subprocess.run([".ci/breaking", BUF], cwd=folder, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def test_single_commit_is_compared_with_nothing(checkout: Path) -> None:
    code, output = run_check(checkout)
    assert (code, output.count("compared with nothing")) == (0, 1)


def test_without_release_the_previous_commit_is_the_baseline(checkout: Path) -> None:
    commit(checkout)
    assert run_check(checkout)[0] == 0
    remove_a_field(checkout)
    commit(checkout)
    code, output = run_check(checkout)
    assert code == 100
    assert 'Previously present field "1" with name "name" on message "Queue" was deleted' in output


def test_uncommitted_change_is_compared_with_the_last_commit(checkout: Path) -> None:
    remove_a_field(checkout)
    assert run_check(checkout)[0] == 100


def test_without_release_the_kept_protos_find_what_earlier_commits_broke(checkout: Path) -> None:
    kept = checkout / "tests/compatibility/kept/1.0.0" / CONTRACT
    kept.parent.mkdir(parents=True)
    subprocess.run([BUF, "build", "protos", "--output", kept], cwd=checkout, check=True)
    commit(checkout)
    assert run_check(checkout)[1].count("nothing breaks, compared with") == 2
    remove_a_field(checkout)
    commit(checkout)
    commit(checkout)
    assert run_check(checkout)[0] == 100


def test_with_release_only_the_release_is_the_baseline(checkout: Path) -> None:
    remove_a_field(checkout)
    commit(checkout)
    git(checkout, "tag", "v1.0.0")
    commit(checkout)
    code, output = run_check(checkout)
    assert (code, output.count("compared with the release v1.0.0")) == (0, 1)
    git(checkout, "tag", "--delete", "v1.0.0")
    git(checkout, "tag", "v1.0.0", "HEAD~2")
    assert run_check(checkout)[0] == 100
