"""Amounts of resources: exact integers from Kubernetes quantities ("250m", "4Gi", "1e3").

In the adapter, amounts are a mapping: "cpu" in milli-cores, "gpu" in thousandths of a device, other resources
in their own unit.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Final

from tenure.v1.resources_pb2 import Resources

_FORM: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d+|[a-zA-Z]{0,2})", re.ASCII)
_SUFFIXES: Final[dict[str, Decimal]] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
_MOST_DIGITS: Final = 64
"""Maximum length of a quantity."""


class InvalidQuantity(ValueError):
    """The text is not a quantity."""


@lru_cache(maxsize=4096)
def quantity(text: str, per_unit: int = 1) -> int:
    """The amount in `1/per_unit`, rounded up as in Kubernetes: `quantity("0.1", 1000)` is 100.

    Raises InvalidQuantity.
    """
    found = _FORM.fullmatch(text) if len(text) <= _MOST_DIGITS else None
    if found is None:
        raise InvalidQuantity(f"{text[:_MOST_DIGITS]!r} is not a quantity")
    number, suffix = found.groups()
    if suffix in _SUFFIXES:
        scale = _SUFFIXES[suffix]
    elif suffix[:1] in ("e", "E") and suffix[-1].isdecimal():
        exponent = int(suffix[1:])
        if abs(exponent) > _MOST_DIGITS:
            raise InvalidQuantity(f"{text!r} is not a quantity")
        scale = Decimal(10) ** exponent
    else:
        raise InvalidQuantity(f"{text!r} has the unknown unit {suffix!r}")
    return int((Decimal(number) * scale * per_unit).to_integral_value(ROUND_CEILING))


CPU: Final = "cpu"
MEMORY: Final = "memory"
GPU: Final = "gpu"
PODS: Final = "pods"
_OWN_FIELDS: Final = frozenset((CPU, MEMORY, GPU, PODS))
MILLI: Final = 1000
MAX_AMOUNT: Final = 2**53
"""Maximum amount of a snapshot."""
MAX_REQUEST: Final = 2**45
"""Maximum amount of one pod, as 32 TiB: 131,072 such pods stay within MAX_AMOUNT. No node has as much."""

Amounts = dict[str, int]


def read_amounts(quantities: Mapping[str, str | int | float], warnings: list[str]) -> Amounts:
    """Amounts. An unreadable or negative amount counts as 0, with a warning.

    Resources with a name that ends in "gpu" are GPUs (semantics R1.2).
    """
    amounts: Amounts = {}
    for name, text in quantities.items():
        slot = GPU if is_gpu(name) else name
        try:
            amount = quantity(str(text), MILLI if slot in (CPU, GPU) else 1)
        except InvalidQuantity as problem:
            warnings.append(f"{name}: {problem}")
            continue
        if amount < 0:
            warnings.append(f"{name}: {text} is negative")
        elif amount:
            amounts[slot] = min(amounts.get(slot, 0) + amount, MAX_AMOUNT)
    return amounts


def is_extended(name: str) -> bool:
    """Whether a resource has no field of its own."""
    return name not in _OWN_FIELDS and not is_gpu(name)


def is_gpu(name: str) -> bool:
    """Whether a resource is GPUs (semantics R1.2)."""
    return name.endswith(GPU)


def clamp(amounts: Mapping[str, int], most: int) -> Amounts:
    """Amounts of at most the maximum."""
    return {name: min(amount, most) for name, amount in amounts.items()}


def add(total: Amounts, more: Mapping[str, int]) -> None:
    """Add amounts to a sum."""
    for name, amount in more.items():
        total[name] = min(total.get(name, 0) + amount, MAX_AMOUNT)


def maximum(left: Mapping[str, int], right: Mapping[str, int]) -> Amounts:
    """The maximum of each amount."""
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


def subtract(total: Mapping[str, int], used: Iterable[Mapping[str, int]]) -> Amounts:
    """The rest of a total, at least 0. GPUs are whole: a partly used GPU counts as used."""
    left = dict(total)
    for amounts in used:
        for name, amount in amounts.items():
            if name in left:
                left[name] -= amount
    left = {name: max(amount, 0) for name, amount in left.items()}
    if GPU in left:
        left[GPU] -= left[GPU] % MILLI
    return left


def to_resources(amounts: Mapping[str, int], *, with_pods: bool) -> Resources:
    """Amounts as a message. `with_pods`: whether to include pod slots, as for nodes."""
    return Resources(
        cpu_milli=amounts.get(CPU, 0),
        memory_bytes=amounts.get(MEMORY, 0),
        gpu_milli=amounts.get(GPU, 0),
        pods=amounts.get(PODS, 0) if with_pods else 0,
        extended={name: amount for name, amount in sorted(amounts.items()) if name not in _OWN_FIELDS},
    )
