"""What replaying records found, as tables for people and as JSON for programs."""

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.server.capabilities import server_version
from tenure.server.records.differences import Difference
from tenure.server.records.replay import Replayed
from tenure.server.report.records import time_text
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.words import count

_COLUMNS = (
    Column("Record", right=True),
    Column("What", bold=True),
    Column("Step"),
    Column("Of", wraps=True),
    Column("Recorded", wraps=True),
    Column("Now", wraps=True),
)


def print_replay(console: Console, results: Sequence[Replayed], *, has_other: bool) -> None:
    """Prints how many records are decided as before, and every decision that is not the same."""
    console.print(Text(_headline(results, has_other=has_other), style="bold"))
    for note in _notes(results):
        console.print(Text(note, style="dim"))
    lines = [_line(result, each) for result in results for each in result.differences]
    Section("\nDifferences", _COLUMNS, ("What", "Step"), lines).print(console)


def replay_json(results: Sequence[Replayed]) -> str:
    """Totals and one object for each record; `tenure replay --help` lists the keys."""
    different = sum(bool(result.differences) for result in results)
    document = {
        "replayed": len(results),
        "same": len(results) - different,
        "different": different,
        "stopped_early": sum(result.stopped_early for result in results),
        "records": [_facts(result) for result in results],
    }
    return json.dumps(document, indent=2)


def _headline(results: Sequence[Replayed], *, has_other: bool) -> str:
    different = sum(bool(result.differences) for result in results)
    by = "by the other configuration" if has_other else "again"
    if not different:
        return f"{count(len(results), 'record')} decided {by}: all the same."
    return f"{count(len(results), 'record')} decided {by}: {different:,} not the same."


def _notes(results: Sequence[Replayed]) -> list[str]:
    """What limits the comparison."""
    stopped = sum(result.stopped_early for result in results)
    engines = {result.engine_version for result in results} - {server_version()}
    notes = []
    if stopped:
        notes.append(f"{count(stopped, 'record')} stopped early: compared as far as the cycle came.")
    if engines:
        notes.append(f"Recorded by version {', '.join(sorted(engines))}; this is {server_version()}.")
    return notes


def _line(result: Replayed, difference: Difference) -> Line:
    kind, step, subject, before, after = difference
    return Line((str(result.id), kind, step, subject, before, after), (kind, step))


def _facts(result: Replayed) -> dict[str, object]:
    return {
        "id": result.id,
        "cluster_id": result.cluster_id,
        "node_pool": result.node_pool,
        "version": result.version,
        "now": time_text(result.now),
        "stopped_early": result.stopped_early,
        "engine_version": result.engine_version,
        "result": "different" if result.differences else "same",
        "differences": [each._asdict() for each in result.differences],
    }
