"""What was doubtful in the snapshot, and how it was read."""

from typing import Final

from tenure.server.labels import label
from tenure.server.report.section import Column, Line, Section
from tenure.server.report.words import listed
from tenure.server.view import View
from tenure.v1.decision_service_pb2 import SnapshotWarning, WarningCode

NAMED: Final = 3
"""Pod groups that are named for each kind of doubt."""


def doubtful(view: View) -> Section:
    """One line for each kind of doubt: how many pod groups, the first few, and what is said of the first."""
    by_code: dict[int, list[SnapshotWarning]] = {}
    for warning in view.response.warnings:
        by_code.setdefault(warning.code, []).append(warning)
    lines = [_line(view, code, warnings) for code, warnings in by_code.items()]
    columns = (
        Column("Doubt", wraps=True),
        Column("Count", right=True),
        Column("Such as", wraps=True),
        Column("How it is read", wraps=True),
    )
    return Section("Doubtful in the snapshot", columns, ("Doubt",), lines)


def _line(view: View, code: int, warnings: list[SnapshotWarning]) -> Line:
    doubt = label(WarningCode, code).replace("_", " ")
    number = sum(warning.count for warning in warnings)
    uids = [uid for warning in warnings for uid in warning.pod_groups]
    names = [view.name(uid) for uid in uids[:NAMED]]
    reading = warnings[0].message
    for name in names[:1]:
        reading = reading.removeprefix(f"pod group {name}: ")
    return Line((doubt, f"{number:,}", _some(names, number), reading), (doubt,))


def _some(names: list[str], number: int) -> str:
    rest = number - len(names)
    return listed([*names, f"{rest:,} more"] if rest else names)
