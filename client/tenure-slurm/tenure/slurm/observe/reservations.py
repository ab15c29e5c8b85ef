"""Reservations of Slurm: nodes that belong to them now, and nodes that they take before a job would end."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tenure.slurm.observe.hostlist import HostListError, expand
from tenure.slurm.observe.rows import JobRow, number

_MINUTE = 60


class Reservation(NamedTuple):
    """A reservation."""

    name: str
    nodes: frozenset[str]
    start: int
    """In seconds since 1970."""
    is_active: bool


def read_reservations(records: Iterable[Mapping[str, str]]) -> list[Reservation]:
    """Reservations, from the fields of the lines of `scontrol -o show reservation`."""
    found: list[Reservation] = []
    for record in records:
        nodes = record.get("Nodes", "(null)")
        try:
            names = frozenset(() if nodes == "(null)" else expand(nodes))
        except HostListError:
            continue
        start = record.get("StartTime", "")
        if names and record.get("ReservationName"):
            begin = int(start) if start.isdecimal() else 0
            found.append(
                Reservation(record["ReservationName"], names, begin, record.get("State") == "ACTIVE")
            )
    return found


def active_by_node(reservations: Iterable[Reservation]) -> dict[str, tuple[str, ...]]:
    """Names of the active reservations of each node."""
    found: dict[str, tuple[str, ...]] = {}
    for one in reservations:
        for node in one.nodes if one.is_active else ():
            found[node] = (*found.get(node, ()), one.name)
    return found


def closing_nodes(job: JobRow, reservations: Sequence[Reservation], now: int) -> frozenset[str]:
    """Nodes that other reservations take before a job ends that starts now."""
    limit = number(job.time_limit)
    taken = (
        one.nodes
        for one in reservations
        if not one.is_active
        and one.name != job.resv_name
        and (limit is None or one.start < now + limit * _MINUTE)
        and one.start > now
    )
    return frozenset().union(*taken)
