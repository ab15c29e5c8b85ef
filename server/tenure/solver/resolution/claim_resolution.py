"""Resolve resource claims of tasks.

A claim that only one task uses becomes part of its request. A shared claim is an entity of its own: it ties
its tasks to one node, where its devices are charged once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tenure.solver.model.claims import ResourceClaim
from tenure.solver.model.facts import TaskFacts
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.resources import GPU, Amounts
from tenure.solver.model.workload_parts import TaskShape


class TasksWithClaims(NamedTuple):
    """Tasks whose shapes include their claims, and all shapes."""

    tasks: list[TaskFacts]
    shapes: tuple[TaskShape, ...]


@dataclass(slots=True)
class _Shapes:
    """Shapes with claims added; equal ones are identical, so that their tasks stay interchangeable."""

    all: list[TaskShape]
    known: dict[tuple[int, Amounts, tuple[int, ...]], TaskShape]

    def of(self, shape: TaskShape, own: Amounts, shared: Sequence[ResourceClaim]) -> TaskShape:
        """Shape with the devices of its own claims and with shared claims."""
        key = (shape.index, own, tuple(claim.index for claim in shared))
        if key not in self.known:
            request = list(shape.request)
            for slot, amount in own:
                request[slot] += amount
            self.known[key] = replace(
                shape,
                index=len(self.all),
                request=tuple(request),
                claimed_gpu_milli=dict(own).get(GPU, 0),
                shared_claims=key[2],
                shared_gpu_milli=sum(claim.gpu_milli for claim in shared),
            )
            self.all.append(self.known[key])
        return self.known[key]


def resolve_claims(
    tasks: Iterable[TaskFacts], shapes: Sequence[TaskShape], claims: Sequence[ResourceClaim]
) -> TasksWithClaims:
    """Replace the shapes of tasks with claims; `TaskFacts.claims` are indices into the claims."""
    specs = list(tasks)
    if not claims:
        return TasksWithClaims(specs, tuple(shapes))
    users = Counter(claim for spec in specs for claim in spec.claims)
    interned = _Shapes(list(shapes), {})
    for i, spec in enumerate(specs):
        if spec.claims:
            own: list[ResourceClaim] = []
            shared: list[ResourceClaim] = []
            for index in spec.claims:
                claim = claims[index]
                (own if _is_own(claim, users, spec.placement.node) else shared).append(claim)
            specs[i] = replace(spec, shape=interned.of(spec.shape, _sum(own), shared))
    return TasksWithClaims(specs, tuple(interned.all))


def _is_own(claim: ResourceClaim, users: Mapping[int, int], node: int) -> bool:
    """Whether the claim has no other user, inside or outside the snapshot."""
    return users[claim.index] == 1 and not claim.other_consumers and claim.node in (NOWHERE, node)


def _sum(claims: Iterable[ResourceClaim]) -> Amounts:
    total: Counter[int] = Counter()
    for claim in claims:
        total.update(dict(claim.amounts))
    return tuple(sorted(total.items()))
