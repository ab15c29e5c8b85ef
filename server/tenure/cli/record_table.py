"""Output of `tenure records`: a table or JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text
from tenure.render.table_section import TableColumn, empty_table
from tenure.server.records import Record
from tenure.terms.durations import SECOND
from tenure.wire.timestamps import timestamp

Listed = tuple[Record, Mapping[str, str]]
"""A record, and the reported results by decision ID."""

_COLUMNS = (
    TableColumn("Record", right=True),
    TableColumn("Decided at"),
    TableColumn("State", wraps=True),
    TableColumn("Steps", wraps=True),
    TableColumn("Reported", wraps=True),
)


def print_records(console: Console, listed: Sequence[Listed]) -> None:
    """Print one row for each record."""
    if not listed:
        console.print("No records.")
        return
    table = empty_table(_COLUMNS)
    for record, reported in listed:
        table.add_row(*map(Text, _cells(record, reported)))
    console.print(table)


def records_json(listed: Sequence[Listed]) -> str:
    """JSON list of records; `tenure records --help` lists the keys."""
    return json.dumps([_facts(record, reported) for record, reported in listed], indent=2)


def decision_count(record: Record) -> dict[str, int]:
    """Number of decisions of each kind."""
    decisions = (decision for group in record.response.groups for decision in group.decisions)
    return dict(Counter(decision.WhichOneof("kind") or "unknown" for decision in decisions))


def time_text(nanoseconds: int) -> str:
    """RFC 3339."""
    return timestamp(nanoseconds).ToJsonString()


def _cells(record: Record, reported: Mapping[str, str]) -> tuple[str, ...]:
    stopped = ["stopped early"] if record.stopped_early else []
    decided = [f"{number:,} {kind}" for kind, number in decision_count(record).items()]
    pool = f", {record.node_pool}" if record.node_pool else ""
    origin = f"version {record.version}" if record.epoch else "with request"
    return (
        str(record.id),
        time_text(record.now // SECOND * SECOND),
        f"{record.cluster_id}{pool}\n{origin}",
        ", ".join([*decided, *stopped]) or "no decisions",
        ", ".join(f"{number:,} {result}" for result, number in Counter(reported.values()).items()),
    )


def _facts(record: Record, reported: Mapping[str, str]) -> dict[str, object]:
    return {
        "id": record.id,
        "recorded_at": time_text(record.recorded_at),
        "now": time_text(record.now),
        "cluster_id": record.cluster_id,
        "node_pool": record.node_pool,
        "version": record.version,
        "epoch": record.epoch,
        "actions": list(record.actions),
        "request_digest": record.request_digest,
        "profile_digest": record.profile_digest,
        "engine_version": record.engine_version,
        "trace_id": record.trace_id,
        "caller": record.caller,
        "stopped_early": record.stopped_early,
        "steps": decision_count(record),
        "reported": dict(Counter(reported.values())),
    }
