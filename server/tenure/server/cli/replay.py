"""`tenure replay`: decide again on what was recorded, and compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.server.cli.decide import Output
from tenure.server.cli.records import MOST, RecordsPath, each, opened, tell

if TYPE_CHECKING:
    from tenure.server.records import RecordsFile
    from tenure.server.records.replay import Replayed
    from tenure.solver.framework.profile import Profile

DIFFERENT: Final = 1
"""Exit code: a record is decided differently now."""


def replay(
    file: RecordsPath = None,
    record: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="Only this record; repeat it for several.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Decide by this scheduler configuration, not by the recorded one."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MOST, help="Only so many of the newest records.")
    ] = None,
    output: Annotated[Output, typer.Option(help="A table for people, JSON for programs.")] = Output.TABLE,
) -> None:
    """Decide again on what a server recorded, and show every decision that is not the same.

    \b
      tenure replay                         does this version decide as the one that served?
      tenure replay --profile new.yaml      what would another configuration have decided?
      tenure replay records.sqlite --record 17

    By the recorded configuration an answer is to be the same, byte for byte. With --profile decisions and
    outcomes are compared. A record that was stopped early, because the caller's time was up, is compared as
    far as it came: its evictions, holds and bindings are to be among those of the whole cycle.

    JSON: replayed, same, different, stopped_early, and records, a list of objects with id, cluster_id,
    node_pool, version, now, stopped_early, engine_version, result (same, different) and differences: a list
    of kind (added, missing, other node, other reason, other content), step, subject, before and after.

    Exit codes: 0 all are the same; 1 some are not; 2 the command line or a file must be mended: records that
    cannot be read are named, and the others replayed.
    """
    from tenure.server.records.replay import replay as replayed

    other = _profile(profile)
    with opened(file) as kept:
        chosen = _chosen(kept, record, limit)
        results, unread = each(kept, _watched(chosen), lambda found: replayed(kept, found, other))
    _print(results, output, has_other=other is not None)
    tell(unread)
    if any(result.differences for result in results):
        raise typer.Exit(DIFFERENT)


def _profile(file: Path | None) -> "Profile | None":
    if file is None:
        return None
    from tenure.server.settings import load_settings

    return load_settings(file).profile


def _chosen(kept: "RecordsFile", named: list[int] | None, limit: int | None) -> list[int]:
    """Ids of records, the oldest first."""
    numbers = kept.ids(limit)
    if not named:
        return numbers
    if unknown := sorted(set(named) - set(numbers)):
        there = f"there are {numbers[0]} to {numbers[-1]}" if numbers else "there are none"
        raise typer.BadParameter(f"no record {unknown[0]}; {there}", param_hint="--record")
    return sorted(set(named))


def _watched(numbers: list[int]) -> Iterator[int]:
    """One after the other, with a bar on standard error while somebody watches it."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(
        numbers, "Deciding again", console=console, transient=True, disable=not console.is_terminal
    )


def _print(results: "list[Replayed]", output: Output, *, has_other: bool) -> None:
    if output is Output.JSON:
        from tenure.server.report.replay import replay_json

        typer.echo(replay_json(results))
        return
    from rich.console import Console
    from tenure.server.report.replay import print_replay

    print_replay(Console(), results, has_other=has_other)
