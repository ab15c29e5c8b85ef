"""`tenure records`: the decisions that a server recorded."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.server.records import Record, RecordsError, RecordsFile

T = TypeVar("T")
MAX_LISTED: Final = 2**31
"""Records that can be asked for."""

RecordsPath = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="File of records; without it, where `tenure serve` keeps them."),
]


def records(
    file: RecordsPath = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=MAX_LISTED, help="Show only the N most recent records.")
    ] = 20,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """List recorded cycles, the newest last.

    The file may belong to a server that runs, or to one that was killed. STATE names the cluster, its node
    pool and the version of the state that was referred to, or says that it came with the request.
    REPORTED is what callers said became of the steps.

    JSON: a list of objects with these keys; times are RFC 3339.

    \b
      id                        what `tenure replay --record` takes
      recorded_at, now          the server's clock, and the time that was decided at
      cluster_id, node_pool, version
      epoch                     of the state referred to; empty: it came with the request
      actions                   those the request named; empty: those of the profile
      request_digest, profile_digest, engine_version, trace_id
      stopped_early             whether the caller's time was up before the cycle was done
      steps                     how many of each kind were decided
      reported                  how many of them became what

    Exit status: 0 listed; 2 invalid command line or file: unreadable records are
    named, and the others listed.
    """
    with open_records(file) as kept:
        found, unread = each(kept, kept.ids(limit), lambda record: (record, kept.results(record)))
    if output is Output.JSON:
        from tenure.cli.record_table import records_json

        typer.echo(records_json(found))
    else:
        from rich.console import Console
        from tenure.cli.record_table import print_records

        print_records(Console(), found)
    raise_unreadable(unread)


def each(
    kept: "RecordsFile", numbers: Iterable[int], use: "Callable[[Record], T]"
) -> "tuple[list[T], list[RecordsError]]":
    """What is made of the records of these ids, and what is wrong with those that cannot be used."""
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
    """Raises RecordsError, with one line for each that is wrong; nothing when there is none."""
    from tenure.server.records import RecordsError

    if unread:
        raise RecordsError("\n".join(dict.fromkeys(map(str, unread))))


def open_records(file: Path | None) -> "RecordsFile":
    """A file of records, by default the one that a server has which was told nothing else."""
    from tenure.server.records import RecordsFile, default_path

    return RecordsFile(file or default_path())
