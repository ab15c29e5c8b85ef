"""The check `commits`: messages of commits have a short subject, and speak of no path of a machine.

Commits up to `CHECKED` are not read again: a message cannot change after others have the commit.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from tests.checks import CannotRun, Counts
from tests.tools.tool import ROOT

CHECKED: Final = "4c1e675e040eda78547ad2139a0690cc68166220"
"""The newest commit whose message, and those before it, is not checked."""
MAX_SUBJECT: Final = 72
"""Longest subject, in characters."""
_AUTOSQUASH: Final = re.compile(r"^(?:(?:fixup|squash|amend)! )+")
_PATHS: Final = re.compile(r"(?<![\w.~-])(?:/(?:home|root|work|tmp)/[^\s'\"`),;]*|[A-Za-z]:\\[^\s'\"`),;]*)")
"""Paths of a machine, of Unix and of Windows."""


def main(
    message: Annotated[Path | None, typer.Argument(metavar="FILE", help="Only the message in FILE.")] = None,
) -> Counts:
    """Check the messages of new commits, or the one that a commit is about to get."""
    if message is not None:
        messages = {"the message": without_comments(message.read_text(encoding="utf-8"))}
    else:
        messages = dict(new_messages(ROOT))
    failed = {commit: found for commit, text in messages.items() if (found := faults(text))}
    for commit, found in failed.items():
        print(*(f"{commit}: {fault}" for fault in found), sep="\n")
    return Counts(len(messages) - len(failed), len(failed))


def faults(message: str) -> list[str]:
    """What is wrong with a message, a sentence each."""
    subject = _AUTOSQUASH.sub("", message.partition("\n")[0])
    found = []
    if len(subject) > MAX_SUBJECT:
        found.append(f"the subject has {len(subject)} characters; at most {MAX_SUBJECT} are permitted")
    found += [f"{path} is a path of a machine" for path in _PATHS.findall(message)]
    return found


def without_comments(text: str) -> str:
    """The message in a file that git gives to an editor."""
    text = re.split(r"^# -+ >8 -+$", text, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def new_messages(folder: Path, checked: str = CHECKED) -> Iterator[tuple[str, str]]:
    """Short id and message of the commits after the checked one. Merges are left out: git writes them.

    A shallow checkout may lack the checked commit. What it has is newer then: the commit is part of every
    history that has this module. Raises CannotRun where there is no history.
    """
    commits = _git(folder, "rev-list", "--no-merges", "HEAD")
    try:
        commits = _git(folder, "rev-list", "--no-merges", "HEAD", f"^{checked}")
    except CannotRun:
        if _git(folder, "rev-parse", "--is-shallow-repository").strip() != "true":
            raise
    for commit in commits.split():
        yield commit[:8], _git(folder, "show", "--no-patch", "--format=%B", commit).strip()


def _git(folder: Path, *arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise CannotRun(ended.stderr.strip())
    return ended.stdout
