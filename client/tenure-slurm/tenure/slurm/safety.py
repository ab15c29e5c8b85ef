"""Settings of Slurm under which it would start, stop or shrink jobs against the decisions."""

import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tenure.slurm.observe.cluster import Scope, foreign_partitions
from tenure.slurm.observe.rows import NodeRow

OLDEST: Final = (22, 5)
_REQUIRED: Final = {
    "PriorityType": (
        "priority/multifactor",
        "with others, a change of the nice value of a held job releases it",
    ),
    "PreemptType": ("preempt/none", "with others, Slurm evicts jobs on its own"),
    "SelectType": ("select/cons_tres", "others schedule no GPUs"),
}
LEAST_JOB_AGE: Final = 60
"""How many seconds jobs that have ended are listed at least."""
_SECONDS: Final = re.compile(r"(\d+) sec")
_VERSION: Final = re.compile(r"(\d+)\.(\d+)")
_USER: Final = re.compile(r"\S+\((\d+)\)")


def unsafe_settings(
    configuration: Mapping[str, str],
    partitions: Sequence[Mapping[str, str]],
    nodes: Sequence[NodeRow],
    scope: Scope,
    administrators: Mapping[int, str] = MappingProxyType({}),
) -> list[str]:
    """What must be changed before the adapter may run, a sentence each; none: it may run.

    `configuration` is that of `scontrol show config`, `partitions` are the fields of all partitions,
    `administrators` those of slurmdbd.
    """
    found = [
        f"{name} is {configuration.get(name)}; set {name}={value}: {why}"
        for name, (value, why) in _REQUIRED.items()
        if configuration.get(name) != value
    ]
    if "lua" not in configuration.get("JobSubmitPlugins", "").split(","):
        text = "Slurm would start jobs on its own; see tenure slurm gate"
        found.append(f"JobSubmitPlugins has no lua; set JobSubmitPlugins=lua: {text}")
    version = _VERSION.match(configuration.get("SLURM_VERSION", ""))
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        found.append(f"Slurm is {configuration.get('SLURM_VERSION')}; 22.05 or later is needed")
    age = _SECONDS.match(configuration.get("MinJobAge", ""))
    if age is None or int(age[1]) < LEAST_JOB_AGE:
        text = "a job whose requeue slurmctld forgot ends, and must be listed to be requeued again"
        found.append(f"MinJobAge is {configuration.get('MinJobAge')}; set MinJobAge=300: {text}")
    found += _unsafe_partitions(partitions, scope)
    return found + _shared_nodes(nodes, scope) + _rights(configuration, administrators)


def _unsafe_partitions(partitions: Sequence[Mapping[str, str]], scope: Scope) -> list[str]:
    by_name = {row.get("PartitionName", ""): row for row in partitions}
    found = [f"partition {name} does not exist" for name in scope.partitions if name not in by_name]
    for name in scope.partitions:
        sharing = by_name.get(name, {}).get("OverSubscribe", "NO")
        if sharing not in ("NO", "EXCLUSIVE"):
            text = "with others, jobs share GPUs"
            found.append(f"partition {name} has OverSubscribe={sharing}; set OverSubscribe=NO: {text}")
    return found


def _shared_nodes(nodes: Sequence[NodeRow], scope: Scope) -> list[str]:
    return [
        f"partition {name} shares {len(names)} nodes with Tenure, such as {min(names)}; remove them from it, "
        "or add it to slurm.partitions: another scheduler would fill them"
        for name, names in sorted(foreign_partitions(nodes, scope).items())
    ]


def _rights(configuration: Mapping[str, str], administrators: Mapping[int, str]) -> list[str]:
    user, own = _USER.fullmatch(configuration.get("SlurmUser", "")), os.geteuid()
    if user is None or own in (0, int(user[1])) or own in administrators:
        return []
    if "slurmdbd" in configuration.get("AccountingStorageType", ""):
        return [f"user {own} may not place jobs; run sacctmgr modify user set AdminLevel=Operator for it"]
    return [f"without slurmdbd only {user[0]} and root may place jobs; run the adapter as one of them"]
