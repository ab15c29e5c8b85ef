"""Queues that Slurm itself knows: its tree of accounts, or its QOS, with their shares and limits.

slurmctld has them in memory, from slurmdbd: reading them with `scontrol -o show assoc_mgr` needs no database.
Without slurmdbd there are none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.slurm.observe.limits import Bounds
from tenure.slurm.observe.tres import MIB
from tenure.v1.snapshot_pb2 import Queue

UNLIMITED: Final = -1
RESOURCES: Final = ("cpu_milli", "memory_bytes", "gpu_milli")
_ROOT: Final = "root"
_GPU_UNIT: Final = 1_000
_TRES: Final = {
    "cpu": ("cpu_milli", 1_000),
    "mem": ("memory_bytes", MIB),
    "gres/gpu": ("gpu_milli", _GPU_UNIT),
}
"""Where a limit goes, and its unit."""
_OF_TYPE: Final = "gres/gpu:"
"""Prefix of limits for GPUs of one type, which is the class of a node that has no other GPUs."""
_ID: Final = re.compile(r"\(\d+\)$")
_LIMIT: Final = re.compile(r"(\d+)(?:\(\d+\))?")
_PARENT_SHARES: Final = 0x7FFF_FFFF
"""Shares of an account whose users compete with the siblings of the account."""
_SLURM_ONLY: Final = (
    *("GrpWall", "GrpTRESMins", "GrpTRESRunMins"),
    *("MaxJobs", "MaxTRESPJ", "MaxTRESPN", "MaxTRESMinsPJ", "MaxWallPJ", "MinTRESPJ"),
)
"""Limits that queues do not have; those of submissions refuse a job before Tenure sees it."""


class Limit(NamedTuple):
    """A limit of Slurm."""

    name: str
    kind: str
    """`account`, `qos` or `user`."""
    example: str
    """One that has this limit."""
    is_of_queue: bool
    """Whether a queue has it, if this kind is a queue."""


class Associations(NamedTuple):
    """What slurmdbd knows. Rows of queues have no quota: Slurm knows no guarantees."""

    accounts: Sequence[Queue] = ()
    qos: Sequence[Queue] = ()
    administrators: Mapping[int, str] = {}
    """Administration level of users that have one, by user id."""
    limits: Sequence[Limit] = ()
    """Limits by which a job may wait in Slurm, one of each kind."""
    bounds: Bounds = Bounds()
    """Limits that decide whether a job may start now."""


def read_associations(records: Iterable[Mapping[str, str]]) -> Associations:
    """Records are the fields of a line each."""
    accounts: dict[str, Queue] = {}
    qos: dict[str, Queue] = {}
    levels: dict[int, str] = {}
    limits: dict[tuple[str, str, bool], Limit] = {}
    for record in records:
        if "AdminLevel" in record:
            _, _, user = record.get("UserName", "").rstrip(")").rpartition("(")
            if record["AdminLevel"] != "None" and user.isdecimal():
                levels[int(user)] = record["AdminLevel"]
            continue
        if "QOS" in record:
            kind, name = "qos", _ID.sub("", record["QOS"])
            qos[name] = _row(name, record)
        elif not record.get("Account"):
            continue
        elif record.get("UserName") or record.get("Partition"):
            kind, name = "user", _ID.sub("", record.get("UserName", ""))
        else:
            kind, name = "account", record["Account"]
            row = _row(name, record)
            row.parent = _ID.sub("", record.get("ParentAccount", ""))
            if name != _ROOT:
                accounts[name] = row
        for limit, is_of_queue in _find_limits(record):
            limits.setdefault((limit, kind, is_of_queue), Limit(limit, kind, name, is_of_queue))
    for row in accounts.values():
        row.parent = row.parent if row.parent in accounts else ""
    return Associations(list(accounts.values()), list(qos.values()), levels, list(limits.values()))


def _row(name: str, record: Mapping[str, str]) -> Queue:
    row = Queue(name=name)
    shares = record.get("Factor", "").partition("/")[0]  # the last word of SharesRaw/Norm/Level/Factor
    weight = float(shares) if shares.isdecimal() and int(shares) != _PARENT_SHARES else 1.0
    limits = _limits(record.get("GrpTRES", ""))
    for resource in RESOURCES:
        amounts = getattr(row, resource)
        amounts.limit, amounts.over_quota_weight = UNLIMITED, weight
    row.cpu_milli.quota = row.memory_bytes.quota = UNLIMITED
    for kind, (resource, unit) in _TRES.items():
        if kind in limits:
            getattr(row, resource).limit = limits[kind] * unit
    for resource in ("cpu_milli", "memory_bytes"):
        amounts = getattr(row, resource)
        amounts.quota = amounts.limit
    for kind in sorted(limits):
        if kind.startswith(_OF_TYPE):
            row.class_limits.add(
                node_class=kind.removeprefix(_OF_TYPE), limit_gpu_milli=limits[kind] * _GPU_UNIT
            )
    if (most := _LIMIT.fullmatch(record.get("GrpJobs", ""))) is not None:
        row.max_running = int(most[1])
    return row


def _limits(text: str) -> dict[str, int]:
    """Limits by resource in a list such as `cpu=N(0),gres/gpu=16(8)`: N is none, use is in parentheses."""
    pairs = (part.rpartition("=") for part in text.split(","))
    found = ((kind, _LIMIT.fullmatch(amount)) for kind, _, amount in pairs)
    return {kind: int(limit[1]) for kind, limit in found if limit is not None}


def _find_limits(record: Mapping[str, str]) -> Iterable[tuple[str, bool]]:
    """Limits of a record, and whether a queue can have them."""
    if _LIMIT.fullmatch(record.get("GrpJobs", "")):
        yield "GrpJobs", True
    for kind in _limits(record.get("GrpTRES", "")):
        yield f"GrpTRES={kind}", kind in _TRES or kind.startswith(_OF_TYPE)
    for name in _SLURM_ONLY:
        if any(letter.isdecimal() for letter in re.sub(r"\([^)]*\)", "", record.get(name, ""))):
            yield name, False
