"""Completion of `kubectl tenure` in shells: the executable `kubectl_complete-tenure`, which kubectl runs.

kubectl passes the words after `tenure`, the last of them incomplete. It reads a candidate from each line,
with a description behind a tab, and from the last line what the shell may add.
"""

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from enum import IntEnum
from typing import Any, Final

import typer
from tenure.kubernetes.plugin.main import app
from tenure.process.printable_output import printable_output

_FILE: Final = "FILE"
"""Placeholder of options and arguments that the shell completes."""


class Directive(IntEnum):
    """What the shell may add: the numbers of cobra, which kubectl is built with."""

    FILES = 0
    NO_FILES = 4


def complete(words: Sequence[str]) -> tuple[list[str], Directive]:
    """Lines for the last of the words after `tenure`."""
    *before, incomplete = words or [""]
    with redirect_stderr(io.StringIO()):  # a message would end up in the line that is typed
        found, directive = _candidates(before, incomplete)
    return [f"{item.value}\t{item.help}" if item.help else str(item.value) for item in found], directive


def _candidates(before: list[str], incomplete: str) -> tuple[list[Any], Directive]:
    """Items of typer for a command, an option, the value of an option, or the next argument."""
    group: Any = typer.main.get_command(app)
    top = group.make_context("kubectl tenure", [], resilient_parsing=True)
    if not before:
        return group.shell_complete(top, incomplete), Directive.NO_FILES
    command = group.get_command(top, before[0])
    if command is None:
        return [], Directive.NO_FILES
    context = command.make_context(before[0], before[1:], parent=top, resilient_parsing=True)
    options = [one for one in command.params if one.param_type_name == "option"]
    missing = [one for one in options if before[-1] in one.opts and not one.is_flag]
    if not missing and incomplete.startswith("-"):
        return command.shell_complete(context, incomplete), Directive.NO_FILES
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    missing = missing or [one for one in arguments if context.params.get(one.name) is None]
    if missing and missing[0].metavar != _FILE:
        return missing[0].shell_complete(context, incomplete), Directive.NO_FILES
    takes_files = bool(missing) or context.allow_extra_args
    return [], Directive.FILES if takes_files else Directive.NO_FILES


def main() -> None:
    """Print the candidates for the arguments of the process."""
    try:
        lines, directive = complete(sys.argv[1:])
    except (Exception, SystemExit):  # it offers nothing; the command itself says what is wrong
        lines, directive = [], Directive.NO_FILES
    with printable_output("\t"):
        print("\n".join([*lines, f":{directive}"]))
