"""`tenure replay`: replay recorded cycles and compare the responses."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from tenure.cli.records import MAX_LISTED, RecordsPath, each, open_records, raise_unreadable
from tenure.process.options import Output

if TYPE_CHECKING:
    from tenure.server.records import RecordsFile
    from tenure.server.records.replay import ReplayResult
    from tenure.solver.plugin_api.profile import Profile

DIFFERENT: Final = 1
"""Exit code: the response to a record differs."""


def replay(
    file: RecordsPath = None,
    record: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="Replay only this record. Repeatable.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use this scheduler configuration instead of the recorded one."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=MAX_LISTED, help="Use only the N most recent records."),
    ] = None,
    output: Annotated[Output, typer.Option(help="Output format.")] = Output.TABLE,
) -> None:
    """Replay recorded cycles and show every decision that differs.

    \b
      tenure replay                         compare this version with the one that decided
      tenure replay --config new.yaml      evaluate another configuration
      tenure replay records.sqlite --record 17

    With the recorded configuration, responses must be identical byte for byte. With --config, decisions and
    outcomes are compared. If the recorded cycle stopped at its deadline, its evictions, reservations and
    bindings must be among those of the complete cycle. If the order of its work depended on the time that
    was left, it is not compared.

    JSON: replayed, same, different, not_compared, stopped_early, and records, a list of objects with id,
    cluster_id, node_pool, version, now, stopped_early, engine_version, result (same, different, not
    compared) and differences: a list of kind (added, missing, other node, other reason, other content),
    step, subject, before and after.

    Exit status: 0 identical; 1 different; 2 invalid command line or file. Unreadable records are
    reported after the others are replayed.
    """
    from tenure.server.records.replay import replay as replayed

    other = _profile(config)
    with open_records(file) as kept:
        chosen = _select_records(kept, record, limit)
        results, unread = each(kept, _with_progress(chosen), lambda found: replayed(kept, found, other))
    _print(results, output, has_other=other is not None)
    raise_unreadable(unread)
    if any(result.differences for result in results):
        raise typer.Exit(DIFFERENT)


def _profile(file: Path | None) -> "Profile | None":
    if file is None:
        return None
    from tenure.server.settings import load_settings

    return load_settings(file).profile


def _select_records(kept: "RecordsFile", named: list[int] | None, limit: int | None) -> list[int]:
    """IDs of the records to replay, oldest first."""
    numbers = kept.ids(limit)
    if not named:
        return numbers
    if unknown := sorted(set(named) - set(numbers)):
        there = f"known: {numbers[0]} to {numbers[-1]}" if numbers else "there are no records"
        raise typer.BadParameter(f"unknown record {unknown[0]}; {there}", param_hint="--record")
    return sorted(set(named))


def _with_progress(numbers: list[int]) -> Iterator[int]:
    """Iterate with a progress bar on standard error, if it is a terminal."""
    from rich.progress import track
    from tenure.render.terminal import TerminalConsole

    console = TerminalConsole(stderr=True)
    yield from track(numbers, "Replaying", console=console, transient=True, disable=not console.is_terminal)


def _print(results: "list[ReplayResult]", output: Output, *, has_other: bool) -> None:
    if output is Output.JSON:
        from tenure.cli.replay_table import replay_json

        typer.echo(replay_json(results))
        return
    from tenure.cli.replay_table import print_replay
    from tenure.render.terminal import TerminalConsole

    print_replay(TerminalConsole(), results, has_other=has_other)
