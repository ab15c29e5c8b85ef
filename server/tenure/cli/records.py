"""`tenure records`: list recorded cycles."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.server.records import Record, RecordsError, RecordsFile

T = TypeVar("T")
MAX_LISTED: Final = 2**31
"""Maximum of --last."""

RecordsPath = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="Records file. Default: that of `tenure serve`."),
]


def records(
    file: RecordsPath = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MAX_LISTED, help="Show only the N most recent records.")
    ] = 20,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """List recorded cycles, the newest last.

    The server may be running. STATE is the cluster, its node pool, and the version of the pushed state, or
    "with request". REPORTED counts the results that callers reported.

    JSON: a list of objects with these keys; times are RFC 3339.

    \b
      id                        value for `tenure replay --record`
      recorded_at, now          server time, and time of the cycle
      cluster_id, node_pool, version
      epoch                     of the pushed state; empty: snapshot in the request
      actions                   those of the request; empty: those of the profile
      request_digest, profile_digest, engine_version, trace_id
      caller                    identity of the caller; empty: callers are not authenticated
      stopped_early             whether the cycle stopped at the deadline
      steps                     number of decisions by kind
      reported                  number of results by status

    Exit status: 0 listed; 2 invalid command line or file. Unreadable records are
    reported after the others are listed.
    """
    with open_records(file) as kept:
        found, unread = each(kept, kept.ids(limit), lambda record: (record, kept.results(record)))
    if output is Output.JSON:
        from tenure.cli.record_table import records_json

        typer.echo(records_json(found))
    else:
        from tenure.cli.record_table import print_records
        from tenure.render.terminal import TerminalConsole

        print_records(TerminalConsole(), found)
    raise_unreadable(unread)


def each(
    kept: "RecordsFile", numbers: Iterable[int], use: "Callable[[Record], T]"
) -> "tuple[list[T], list[RecordsError]]":
    """Results for these record IDs, and errors of records that cannot be used."""
    from tenure.server.records import RecordsError

    made, unread = [], []
    for number in numbers:
        try:
            if (record := kept.record(number)) is not None:
                made.append(use(record))
        except RecordsError as error:
            unread.append(error)
    return made, unread


def raise_unreadable(unread: "list[RecordsError]") -> None:
    """Raises RecordsError with one line for each error, if there are any."""
    from tenure.server.records import RecordsError

    if unread:
        raise RecordsError("\n".join(dict.fromkeys(map(str, unread))))


def open_records(file: Path | None) -> "RecordsFile":
    """Open a records file; by default that of a server with default settings."""
    from tenure.server.records import RecordsFile, default_path

    return RecordsFile(file or default_path())
