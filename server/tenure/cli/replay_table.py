"""Output of `tenure replay`: tables or JSON."""

import json
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text
from tenure.cli.record_table import time_text
from tenure.process.version import package_version
from tenure.render.table_section import TableColumn, TableRow, TableSection
from tenure.server.records.replay import Difference, ReplayResult
from tenure.terms.formatting import format_count

_COLUMNS = (
    TableColumn("Record", right=True),
    TableColumn("What", bold=True),
    TableColumn("Step"),
    TableColumn("Of", wraps=True),
    TableColumn("Recorded", wraps=True),
    TableColumn("Now", wraps=True),
)


def print_replay(console: Console, results: Sequence[ReplayResult], *, has_other: bool) -> None:
    """Print the number of identical records, and every difference."""
    console.print(Text(_headline(results, has_other=has_other), style="bold"))
    for note in _notes(results):
        console.print(Text(note, style="dim"))
    lines = [_line(result, each) for result in results for each in result.differences]
    TableSection("\nDifferences", _COLUMNS, ("What", "Step"), lines).print(console)


def replay_json(results: Sequence[ReplayResult]) -> str:
    """JSON with totals and one object for each record; `tenure replay --help` lists the keys."""
    different = sum(bool(result.differences) for result in results)
    compared = sum(result.is_compared for result in results)
    document = {
        "replayed": len(results),
        "same": compared - different,
        "different": different,
        "not_compared": len(results) - compared,
        "stopped_early": sum(result.stopped_early for result in results),
        "records": [_facts(result) for result in results],
    }
    return json.dumps(document, indent=2)


def _headline(results: Sequence[ReplayResult], *, has_other: bool) -> str:
    different = sum(bool(result.differences) for result in results)
    compared = sum(result.is_compared for result in results)
    if results and not compared:
        return "No record can be compared."
    how = " with the other configuration" if has_other else ""
    what = f"{different:,} different" if different else "all identical"
    return f"{format_count(compared, 'record')} replayed{how}: {what}."


def _notes(results: Sequence[ReplayResult]) -> list[str]:
    """Notes on what the comparison does not cover."""
    stopped = sum(result.stopped_early and result.is_compared for result in results)
    not_compared = sum(not result.is_compared for result in results)
    engines = {result.engine_version for result in results} - {package_version()}
    notes = []
    if stopped:
        notes.append(f"{format_count(stopped, 'record')} stopped early: compared up to that point.")
    if not_compared:
        what = format_count(not_compared, "record")
        notes.append(f"{what} not compared: the order of the work depended on the time that was left.")
    if engines:
        notes.append(f"Recorded by version {', '.join(sorted(engines))}; this is {package_version()}.")
    return notes


def _line(result: ReplayResult, difference: Difference) -> TableRow:
    kind, step, subject, before, after = difference
    return TableRow((str(result.id), kind, step, subject, before, after), (kind, step))


def _facts(result: ReplayResult) -> dict[str, object]:
    return {
        "id": result.id,
        "cluster_id": result.cluster_id,
        "node_pool": result.node_pool,
        "version": result.version,
        "now": time_text(result.now),
        "stopped_early": result.stopped_early,
        "engine_version": result.engine_version,
        "result": _result(result),
        "differences": [each._asdict() for each in result.differences],
    }


def _result(result: ReplayResult) -> str:
    if not result.is_compared:
        return "not compared"
    return "different" if result.differences else "same"
