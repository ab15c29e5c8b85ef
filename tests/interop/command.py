"""The check `interop`: run clients against a real server and print their reports."""

import traceback
from textwrap import indent
from typing import Annotated

import typer

from tests.checks import Counts
from tests.interop.clients import NEEDED
from tests.server.servers import run_server_process

_KNOWN = {ask.__name__: ask for ask in NEEDED}


def main(
    clients: Annotated[list[str] | None, typer.Argument(help=f"Only these: {', '.join(_KNOWN)}")] = None,
) -> Counts:
    """Run clients that use only the contract against a server process."""
    if unknown := set(clients or ()) - _KNOWN.keys():
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(_KNOWN)}")
    passed = failed = 0
    with run_server_process() as (_, address):
        for name in clients or _KNOWN:
            try:
                report = _KNOWN[name](address)
            except Exception:
                traceback.print_exc()
                failed += 1
            else:
                print(f"{name}:\n{indent(report.rstrip(), '  ')}")
                passed += 1
    return Counts(passed, failed)
