"""`tenure records`: the decisions that a server recorded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tenure.server.cli.decide import Output

if TYPE_CHECKING:
    from tenure.server.records import RecordsFile

RecordsPath = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="File of records; without it, where `tenure serve` keeps them."),
]


def records(
    file: RecordsPath = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Only so many of the newest.")] = 20,
    output: Annotated[Output, typer.Option(help="A table for people, JSON for programs.")] = Output.TABLE,
) -> None:
    """List the decisions that a server recorded, the newest last.

    The file may belong to a server that runs, or to one that was killed. STATE says how the snapshot came:
    with the request, or pushed before and referred to. REPORTED is what callers said became of the steps.

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

    Exit codes: 0 listed; 2 the command line or the file must be mended.
    """
    with opened(file) as kept:
        found = [(record, kept.outcomes(record)) for record in kept.records(limit)]
    if output is Output.JSON:
        from tenure.server.report.records import records_json

        typer.echo(records_json(found))
        return
    from rich.console import Console
    from tenure.server.report.records import print_records

    print_records(Console(), found)


def opened(file: Path | None) -> "RecordsFile":
    """A file of records, by default the one that a server has which was told nothing else."""
    from tenure.server.records import RecordsFile, default_path

    return RecordsFile(file or default_path())
