"""`python -m tests`: list the named checks, run one, or build the tools that checks and tests need.

Usage:
  python -m tests                     list the checks
  python -m tests NAME [OPTIONS]      run one; --help prints its options
  python -m tests build [TOOL...]     build tools that are missing; without a name, list them
  python -m tests --ci                print the names of those that CI runs on every change
  python -m tests --write-page        write both lists into docs/internals/testing.md

The last line of a check is `N passed, N failed`, unless it only reports. Exit status: 0 all passed; 1 some
failed; 2 the check cannot run here, for the reason on standard error.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from tests.checks import CHECKS, CannotRun, Check, Counts
from tests.checks_page import PAGE, written
from tests.tools.catalog import COMPILED, TOOLS, provide
from tests.tools.tool import ROOT, Tool

_Entry = TypeVar("_Entry", Check, Tool)


def main(arguments: Sequence[str]) -> int:
    """Do what the command line asks for. Returns the exit status."""
    checks = {check.name: check for check in CHECKS}
    match arguments:
        case []:
            print(_listing("check", CHECKS, lambda check: check.needs))
        case ["--help"]:
            print(__doc__.strip())
        case ["--ci"]:
            print("\n".join(check.name for check in CHECKS if check.in_ci))
        case ["--write-page"]:
            PAGE.write_text(written(PAGE.read_text()))
        case ["build"]:
            print(_listing("tool", TOOLS, lambda tool: (*tool.programs, *tool.after)))
        case ["build", *names] if set(names) <= {tool.name for tool in TOOLS}:
            return _build(names)
        case [name, *options] if name in checks:
            return _run(checks[name], options)
        case _:
            return _cannot(" ".join(arguments), "unknown check, tool or option; see python -m tests --help")
    return 0


def _build(names: Sequence[str]) -> int:
    try:
        provide(names)
    except CannotRun as reason:
        return _cannot("build", reason)
    return 0


def _run(check: Check, options: Sequence[str]) -> int:
    """Run a check with its options, parsed by its function's parameters."""
    try:
        import typer

        function = check.load()
    except ModuleNotFoundError as missing:
        return _cannot(check.name, f"{missing}; use .venv/bin/python, which make .venv/ready creates")

    @wraps(function)
    def runnable(**parsed: Any) -> None:
        raise typer.Exit(_ended(check, options, parsed))

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(runnable)
    try:
        app(list(options), prog_name=f"python -m tests {check.name}")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _ended(check: Check, options: Sequence[str], parsed: dict[str, Any]) -> int:
    try:
        provide(check.needs)
        if "compiled" in check.needs:
            _continue_compiled(check, options)
        counts = check.load()(**parsed)
    except CannotRun as reason:
        return _cannot(check.name, reason)
    except Exception:
        traceback.print_exc()
        counts = Counts(0, 1)  # the check itself
    sys.stderr.flush()
    if counts is None:
        return 0
    print(counts, flush=True)
    return 1 if counts.failed else 0


def _continue_compiled(check: Check, options: Sequence[str]) -> None:
    """Run the same check in the environment of the compiled package instead, unless this is it."""
    if Path(sys.prefix) == COMPILED:
        return
    python = str(COMPILED / "bin/python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    os.execve(python, [python, "-m", "tests", check.name, *options], environment)


def _listing(what: str, entries: Iterable[_Entry], needs: Callable[[_Entry], tuple[str, ...]]) -> str:
    rows = [(entry.name, entry.duration, ", ".join(needs(entry)), entry.purpose) for entry in entries]
    table = ((what, "usually", "needs", "purpose"), *rows)
    return "\n".join(
        f"{name:22} {duration:>7}  {needed:18} {purpose}" for name, duration, needed, purpose in table
    )


def _cannot(name: str, reason: object) -> int:
    print(f"{name}: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
