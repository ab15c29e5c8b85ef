"""Which pod groups are left out when all together are more than a server accepts.

Namespaces have equal shares: pod groups are admitted in the order of what their namespace uses with them, so
that one with few pods always has all of them. Within a namespace, pod groups with pods on nodes come first,
then the oldest. Equal pod groups give equal results.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from tenure.wire.limits import MAX_TOTAL
from tenure.wire.row_limits import SenderLimits


class Cost(NamedTuple):
    """What pod groups use of the limits of a server."""

    pod_groups: int
    pods: int
    shapes: int
    bytes: int
    amount: int
    """Sum of the largest request of each pod."""

    def plus(self, other: "Cost") -> "Cost":
        """The sum."""
        return Cost(*(one + more for one, more in zip(self, other, strict=True)))

    def fits(self, most: "Cost") -> bool:
        """Whether nothing is above its maximum."""
        return all(one <= limit for one, limit in zip(self, most, strict=True))

    def share(self, most: "Cost") -> float:
        """The largest part of a maximum."""
        return max(one / max(limit, 1) for one, limit in zip(self, most, strict=True))


NOTHING: Final = Cost(0, 0, 0, 0, 0)


class Claimant(NamedTuple):
    """A pod group, with what its place in the order depends on."""

    namespace: str
    is_waiting: bool
    """Whether no pod of it is on a node."""
    creation: int
    """In nanoseconds since 1970."""
    uid: str
    cost: Cost


def most_cost(limits: SenderLimits) -> Cost:
    """What a server accepts of all pod groups."""
    pod_groups, pods, shapes = map(limits.max_rows.of, ("pod_groups", "pods", "shapes"))
    return Cost(pod_groups, pods, shapes, limits.max_total_bytes, MAX_TOTAL)


def left_out(claimants: Iterable[Claimant], most: Cost) -> frozenset[str]:
    """Uids of the pod groups that are left out, so that the others are within the maximum."""
    of_namespace: defaultdict[str, list[Claimant]] = defaultdict(list)
    for claimant in claimants:
        of_namespace[claimant.namespace].append(claimant)
    order: list[tuple[float, Claimant]] = []
    for members in of_namespace.values():
        used = NOTHING
        for member in sorted(members):
            used = used.plus(member.cost)
            order.append((used.share(most), member))
    total, gone = NOTHING, set[str]()
    for _, member in sorted(order):
        after = total.plus(member.cost)
        if after.fits(most):
            total = after
        else:
            gone.add(member.uid)
    return frozenset(gone)
