"""How many pods of an owner must run together, and in which roles.

A gang contains the pods that a controller creates without waiting for one of them to run. A role that is
created later joins when it has pods, so nothing waits for pods that are not created yet.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any, Final, NamedTuple

from tenure.kubernetes.owners.json_paths import ObjectPath, path_of
from tenure.kubernetes.owners.kinds import Factor, OwnerKind, RoleRow
from tenure.wire.limits import MAX_SUB_GROUPS

OTHERS: Final = "others"
"""Role of the pods of an owner that have none of its roles."""
_MOST_PODS: Final = 2**31 - 1
_MOST_DIGITS: Final = 9
_LONGEST_NAME: Final = 200


class Role(NamedTuple):
    """Equal pods of an owner."""

    name: str
    """In lower case."""
    pods: int
    """Number of pods that must run together."""
    is_later: bool = False
    """Whether it is created only after others run."""


class Gang(NamedTuple):
    """The pods of an owner that must run together."""

    minimum: int | None = None
    """Number of pods of all roles; None: each role must be complete."""
    roles: tuple[Role, ...] = ()


NO_GANG: Final = Gang()
"""One pod suffices."""


class Needed(NamedTuple):
    """What a pod group requires now: a number of pods, or else its roles."""

    pods: int
    """0 with roles."""
    roles: tuple[Role, ...] = ()
    """Pods of a role that is missing here wait: the role is not complete yet."""
    min_roles: int | None = None
    """Number of roles that must be complete; None: all."""


class MemberPod(NamedTuple):
    """A pod of a gang."""

    role: str
    is_on_node: bool
    has_ended: bool
    has_succeeded: bool


def gang_of(kind: OwnerKind, owner: Mapping[str, Any] | None, problems: list[str]) -> Gang:
    """The gang that an owner describes. None: the owner is not known; what its pods say counts.

    Values that are no numbers count as the default, with a problem.
    """
    if owner is None:
        found = [role for row in kind.roles for role in _roles(row, {}, [])]
        numbered = enumerate(found)
        return Gang(None, tuple(one._replace(is_later=number > 0 < one.pods) for number, one in numbered))
    roles: dict[str, Role] = {}
    for row in kind.roles:
        for role in _roles(row, owner, problems):
            same = roles.get(role.name, Role(role.name, 0, role.is_later))
            roles[role.name] = Role(
                role.name, min(same.pods + role.pods, _MOST_PODS), same.is_later and role.is_later
            )
    minimum = _first(_numbers(kind.minimum, owner, owner, problems))
    if len(roles) > MAX_SUB_GROUPS:
        at_once = sum(role.pods for role in roles.values() if not role.is_later)
        return Gang(min(at_once, _MOST_PODS) if minimum is None else minimum)
    return Gang(minimum, tuple(roles.values()))


def with_pods_annotation(kind: OwnerKind, gang: Gang, annotations: Mapping[str, str]) -> Gang:
    """The gang of a pod group whose pods say how many they are; the last role has what others leave."""
    total = _as_number(annotations.get(kind.pods_annotation)) if kind.pods_annotation else None
    if total is None or not gang.roles:
        return gang
    *others, last = gang.roles
    rest = max(total - sum(role.pods for role in others), 0)
    return gang._replace(roles=(*others, last._replace(pods=rest)))


def role_of(kind: OwnerKind, gang: Gang, labels: Mapping[str, str]) -> str:
    """The role of a pod."""
    names = {role.name for role in gang.roles}
    for row in kind.roles:
        if row.pod_labels and row.pod_labels.items() <= labels.items() and row.name.lower() in names:
            return row.name.lower()
    if not kind.role_labels:
        return gang.roles[-1].name if gang.roles else OTHERS
    stated = (labels[key].lower() for key in kind.role_labels if key in labels)
    return next((name for name in stated if name in names), OTHERS)


def needed_of(gang: Gang, pods: Sequence[MemberPod]) -> Needed:
    """What is needed now.

    Where a pod of a role succeeded, the controller replaces only those that it still wants: the role needs no
    more pods than it has.
    """
    alive = Counter(pod.role for pod in pods if not pod.has_ended)
    finished = {pod.role for pod in pods if pod.has_succeeded}
    roles = [
        role._replace(pods=min(role.pods, alive[role.name])) if role.name in finished else role
        for role in gang.roles
    ]
    is_ordered = any(role.is_later for role in roles)
    if gang.minimum is not None or len(roles) < _SEVERAL:
        created = sum(role.pods for role in roles if not role.is_later or alive[role.name])
        least = created if gang.minimum is None else gang.minimum
        least = min(least, created) if is_ordered else least
        return Needed(max(min(least, alive.total()) if finished else least, 1))
    if not is_ordered:
        needed, min_roles = roles, None
    else:
        active = {pod.role for pod in pods if pod.is_on_node and not pod.has_ended}
        needed = _in_order(roles, alive, active)
        optional = sum(role.pods == 0 for role in needed)
        min_roles = max(sum(role.name in active for role in needed if role.pods), 1) + optional
        min_roles = min(min_roles, len(needed))
    if any(pod.role == OTHERS for pod in pods) and OTHERS not in {role.name for role in roles}:
        needed = [*needed, Role(OTHERS, 0)]
        min_roles = None if min_roles is None else min_roles + 1
    return Needed(0, tuple(needed), min_roles)


_SEVERAL: Final = 2


def _in_order(roles: Sequence[Role], alive: Mapping[str, int], active: Set[str]) -> list[Role]:
    """Roles of a gang that starts in an order.

    A role without pods requires none. A later role is placed as a whole, so it is left out while its
    controller has not created all of its pods.
    """
    present = [role if alive.get(role.name) else role._replace(pods=0) for role in roles]
    return [
        role
        for role in present
        if not role.is_later or role.name in active or role.pods <= alive.get(role.name, 0)
    ]


def _roles(row: RoleRow, owner: Mapping[str, Any], problems: list[str]) -> Iterator[Role]:
    for key, element in row.each.select(owner, owner):
        name = row.name or key
        if row.name.startswith(("$", "@")):
            name = path_of(row.name).first(owner, element)
        pods = prod(_number(factor, owner, element, problems) for factor in row.size)
        is_later = any(next(path.select(owner, element), None) for path in row.later)
        text = name if isinstance(name, str) else ""
        yield Role(text[:_LONGEST_NAME].lower() or OTHERS, min(pods, _MOST_PODS), is_later)


def _number(factor: Factor, owner: object, element: object, problems: list[str]) -> int:
    if factor.least:
        return min(_numbers(factor.least, owner, element, problems), default=factor.default)
    found = _first(_numbers(factor.first, owner, element, problems))
    return factor.default if found is None else found


def _first(numbers: Sequence[int]) -> int | None:
    """The first number above zero, else a zero; None: there is none."""
    return next(filter(None, numbers), 0) if numbers else None


def _numbers(paths: Iterable[ObjectPath], owner: object, element: object, problems: list[str]) -> list[int]:
    found = []
    for path in paths:
        value = path.first(owner, element)
        number = _as_number(value)
        if number is not None:
            found.append(number)
        elif value is not None:
            problems.append(f"{path.text}: {str(value)[:64]!r} is not a number: it is ignored")
    return found


def _as_number(value: object) -> int | None:
    """A number of pods, also one that is text, as in annotations; None: the value is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), _MOST_PODS)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    return None
