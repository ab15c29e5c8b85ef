"""Resources in the texts of Slurm: generic resources of jobs and nodes, and totals that Slurm counts."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

MIB: Final = 2**20
_GPUS: Final = re.compile(
    r"(?:gres[:/])?gpu(?:[:=](?P<type>[^:=,()\s]+))?(?:[:=](?P<count>\d{1,18}))?(?:\(.*\))?"
)
_CPUS: Final = re.compile(r"cpu[:=]\d+")
"""What newer versions list for --cpus-per-task. The total of a job has its CPUs."""
_AMOUNT: Final = re.compile(r"(?P<kind>[^=,]+)=(?P<whole>\d+)(?:\.(?P<part>\d+))?(?P<unit>[KMGTP]?)")
_COUNTS: Final = {"": 1, "K": 1_000, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_KIB: Final = {"": 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}
"""KiB of an amount of memory. Slurm means MiB without a unit."""
_IN_MIB: Final = frozenset({"mem", "vmem", "fs/disk"})


class Refused(ValueError):
    """A job requests what Tenure cannot place. The message says what, and what to request instead."""


class Gpus(NamedTuple):
    """GPUs of a request or a node."""

    devices: int = 0
    types: tuple[tuple[str, int], ...] = ()
    """Those of a type, by type; the others are of any type."""

    @property
    def type(self) -> str:
        """The type of all of them; "": any, or several."""
        return self.types[0][0] if len(self.types) == 1 and self.types[0][1] == self.devices else ""


def read_gpus(text: str) -> Gpus:
    """GPUs in a list such as `gres:gpu:a100:2,cpu=1`. Raises Refused for others than GPUs and CPUs."""
    total, types = 0, dict[str, int]()
    for part in filter(None, _split(text)):
        found = _GPUS.fullmatch(part)
        if _CPUS.fullmatch(part):
            continue
        if found is None:
            raise Refused(f"generic resource {part!r} is not scheduled here; request gpu only")
        name, count = found["type"], found["count"]
        if name is not None and count is None and name.isdecimal():
            name, count = None, name  # a number alone is a count, as in gpu:2
        devices = int(count or 1)
        total += devices
        if name:
            types[name] = types.get(name, 0) + devices
    return Gpus(total, tuple(sorted(types.items())))


@lru_cache(1_000)
def node_gpus(gres: str) -> Gpus:
    """GPUs of a node. Other generic resources, which no job can request, are ignored."""
    parts = [part for part in _split(gres) if _GPUS.fullmatch(part)]
    return read_gpus(",".join(parts))


@lru_cache(10_000)
def read_tres(text: str) -> Mapping[str, int]:
    """Amounts by resource in a list such as `cpu=2,mem=500M,node=1,gres/gpu=2`; memory in MiB, rounded up."""
    found: dict[str, int] = {}
    for part in text.split(","):
        if (amount := _AMOUNT.fullmatch(part)) is None:
            continue
        hundredths = int(amount["whole"]) * 100 + int((amount["part"] or "").ljust(2, "0")[:2])
        in_mib = amount["kind"] in _IN_MIB
        unit, scale = (_KIB[amount["unit"]], 2**10) if in_mib else (_COUNTS[amount["unit"]], 1)
        found[amount["kind"]] = -(-hundredths * unit // (100 * scale))
    return found


def _split(text: str) -> list[str]:
    """Parts of a list; commas in parentheses do not separate."""
    return re.split(r",(?![^(]*\))", text)
