"""Messages of new commits: a subject of at most 72 characters, and no path of a machine."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.checks import CannotRun
from tests.repository.commit_messages import faults, main, new_messages
from tests.tools.tool import ROOT

LONG = "Say in a subject that is far too long what could have been said in a shorter one"

MESSAGES = {
    "a subject and a body": ("Keep plans\n\nUsers see fewer moves.", []),
    "a subject of 72 characters": ("x" * 72, []),
    "a subject of 73 characters": ("x" * 73, ["the subject has 73 characters; at most 72 are permitted"]),
    "a long line of the body": (f"Keep plans\n\n{'x' * 100}", []),
    "a commit to be squashed": (f"fixup! {'x' * 72}", []),
    "a home folder in the subject": ("Fix /home/ann/x", ["/home/ann/x is a path of a machine"]),
    "a home folder in the body": ("Fix it\n\nIn /root/x, too.", ["/root/x is a path of a machine"]),
    "a folder of work": ("Read '/work/project/a.py'", ["/work/project/a.py is a path of a machine"]),
    "a temporary folder": ("Fix it\n\n(see /tmp/a.log)", ["/tmp/a.log is a path of a machine"]),
    "a folder of Windows": (r"Fix C:\Users\ann", [r"C:\Users\ann is a path of a machine"]),
    "paths of the repository": ("Move server/work/x to docs/root/y and ./tmp/z", []),
    "an address": ("See https://example.org/work/tmp/x", []),
    "a ratio and a time": ("Take 1/2 of it at 12:30", []),
}


def git(folder: Path, *arguments: str) -> str:
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | identity,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    git(tmp_path, "init", "--quiet", str(folder))
    for subject in ("Begin", LONG, "End"):
        git(folder, "commit", "--quiet", "--no-verify", "--allow-empty", "--message", subject)
    return folder


@pytest.mark.parametrize(("message", "found"), MESSAGES.values(), ids=MESSAGES)
def test_faults_of_a_message(message: str, found: list[str]) -> None:
    assert faults(message) == found


def test_new_commits_of_this_checkout_have_no_faults() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    assert {commit: found for commit, text in new_messages(ROOT) if (found := faults(text))} == {}


def test_commits_after_the_checked_one_are_new(repository: Path) -> None:
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    assert [message for _, message in new_messages(repository, first)] == ["End", LONG]


def test_a_shallow_checkout_without_the_checked_commit_has_new_commits_only(
    repository: Path, tmp_path: Path
) -> None:
    first = git(repository, "rev-list", "--max-parents=0", "HEAD")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth", "2", repository.as_uri(), str(shallow))
    assert [message for _, message in new_messages(shallow, first)] == ["End", LONG]


def test_a_history_without_the_checked_commit_is_no_proof(repository: Path) -> None:
    with pytest.raises(CannotRun):
        list(new_messages(repository, "0" * 39 + "1"))


@pytest.mark.parametrize(("message", "failed"), [("Keep plans", 0), (LONG, 1)])
def test_hook_reads_the_message_without_what_git_adds(tmp_path: Path, message: str, failed: int) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(f"{message}\n# On branch main\n# ---- >8 ----\ndiff --git /home/a /home/b\n")
    assert main(file) == (1 - failed, failed)
