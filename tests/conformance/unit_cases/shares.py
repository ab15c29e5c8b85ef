"""Resource shares of queues: conversion of recorded shares, and the functions that compare shares."""

from collections.abc import Iterable, Mapping
from typing import Any

from tenure.solver.model.resources import UNLIMITED, WHOLE_GPU, Share
from tenure.solver.plugins.proportion.fair_share import ShareRequest
from tenure.solver.plugins.proportion.reclaim_fairness import exceeds
from tenure.solver.plugins.proportion.shares import (
    allocatable_share,
    bounding_share,
    dominant_share,
    is_within,
)

from tests.conformance.cases import Json
from tests.conformance.unit_cases.values import Adapter, Results

UNITS = (1, 1, WHOLE_GPU)
"""Tenure's units per unit of a recording: milli-cores, bytes, whole GPUs."""

NAMES = ("CPU", "Memory", "GPU")
ZERO: Share = (0, 0, 0)


def from_native(amounts: Iterable[float]) -> Share:
    """Convert CPU, memory and GPU of a recording to Tenure's units."""
    cpu, memory, gpu = (
        UNLIMITED if amount == UNLIMITED else round(amount * unit)
        for amount, unit in zip(amounts, UNITS, strict=True)
    )
    return (cpu, memory, gpu)


def to_native(share: Share) -> list[float]:
    """Convert back to the units of a recording."""
    pairs = zip(share, UNITS, strict=True)
    return [float(amount) if amount == UNLIMITED else amount / unit for amount, unit in pairs]


def quantities(record: Mapping[str, float] | None) -> Share:
    """Parse a recorded {CPU, Memory, GPU}. A missing resource is zero."""
    return from_native((record or {}).get(name, 0) for name in NAMES)


def vector(record: Mapping[str, float] | None) -> Share:
    """Return the three shared resources of a recorded resource vector."""
    names = ("cpu_milli", "memory_bytes", "gpus")
    return from_native((record or {}).get(name, 0) for name in names)


def column(shares: Mapping[str, Json], field: str) -> Share:
    """Return one field (`Deserved`, `Allocated`, ...) of a recorded QueueResourceShare, for all resources."""
    return from_native(shares.get(name, {}).get(field, 0) for name in NAMES)


def allocatable(shares: Mapping[str, Json]) -> Share:
    """Return the allocatable share of a queue, computed from its recorded shares."""
    columns = (column(shares, field) for field in ("Deserved", "MaxAllowed", "FairShare"))
    cpu, memory, gpu = (allocatable_share(*amounts) for amounts in zip(*columns, strict=True))
    return (cpu, memory, gpu)


def add(a: Share, b: Share) -> Share:
    """Return the component-wise sum."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _by_name(share: Share) -> dict[str, float]:
    return dict(zip(NAMES, to_native(share), strict=True))


def _allocatable_share(shares: Json) -> Results:
    return (_by_name(allocatable(shares)),)


def _dominant_share(shares: Json, total: Json | None) -> Results:
    bounds = bounding_share(allocatable(shares), quantities(total))
    return (dominant_share(column(shares, "Allocated"), bounds),)


def _requestable(share: Json) -> Results:
    claim = ShareRequest((), 0, quota=0, limit=share["MaxAllowed"], weight=0, request=share["Request"])
    return (claim.requestable,)


def _requestable_of_all(shares: Json) -> Results:
    return ({name: _requestable(shares[name])[0] for name in NAMES},)


def _fits_deserved(shares: Json, resources: Json | None, _vector_map: Any) -> Results:
    after = add(column(shares, "Allocated"), vector(resources))
    return (is_within(after, column(shares, "Deserved")),)


def _less_equal(mine: Json, other: Json) -> Results:
    return (is_within(quantities(mine), quantities(other)),)


def _less_somewhere(mine: Json, other: Json) -> Results:
    return (exceeds(quantities(other), quantities(mine)),)


RESOURCE_SHARE_CALLS: dict[str, Adapter] = {
    "QueueResourceShare.GetAllocatableShare": _allocatable_share,
    "QueueResourceShare.GetDominantResourceShare": _dominant_share,
    "QueueResourceShare.GetRequestableShare": _requestable_of_all,
    "QueueResourceShare.AllocatedPlusResourcesLessEqualDeserved": _fits_deserved,
    "ResourceShare.GetRequestableShare": _requestable,
    "ResourceQuantities.LessEqual": _less_equal,
    "ResourceQuantities.LessInAtLeastOneResource": _less_somewhere,
}
