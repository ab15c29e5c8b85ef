"""Chains of owners: which owner a pod group stands for, and in which order users' words on owners count."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from tenure.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.kubernetes.owners.gangs import Gang, gang_of
from tenure.kubernetes.owners.kinds import Grouping, OwnerKind, OwnerKinds, built_in_kinds
from tenure.kubernetes.owners.owner_object import OwnerObject


class Owner(NamedTuple):
    """The owner that a pod group stands for."""

    metadata: ObjectMeta
    kind: OwnerKind | None
    """Its row in the table; None: its kind is unknown."""
    grouping: Grouping
    gang: Gang
    is_known: bool = True
    """Whether it could be read: not only its name is known."""
    warnings: tuple[str, ...] = ()
    is_retried: bool = False
    """Whether an owner may not be read, or cannot, and is read again later."""
    unread: str = ""
    """Which owner may not be read, and why; "": none."""
    chain: tuple[OwnerObject, ...] = ()
    """All owners: from the top owner down, then those that create such owners one after the other."""


class Link(NamedTuple):
    """An owner in a chain of owners."""

    metadata: ObjectMeta
    kind: OwnerKind | None
    item: OwnerObject | None
    """None: only its name is known."""


def link_of(
    kinds: OwnerKinds, namespace: str, reference: OwnerReference, item: OwnerObject | None = None
) -> Link:
    """An owner by a reference to it; without `item` only its name is known."""
    meta = item.metadata if item is not None else _only_named(namespace, reference)
    return Link(meta, kinds.of(reference.api_version, reference.kind), item)


def owner_of(links: Sequence[Link]) -> Owner:
    """The owner that pods are grouped by, of a chain that begins with the owner of a pod.

    It is the highest one of a known kind, or the top owner if none is known; owners from one on that creates
    workloads of their own do not group.
    """
    ends = (number for number, link in enumerate(links) if _groups_below(link))
    within = links[: next(ends, len(links))]
    known = [link for link in within if link.kind is not None]
    meta, kind, item = known[-1] if known else (within or links)[-1]
    of_kind = kind.pod_group if kind is not None else Grouping.OWNER
    grouping = of_kind if within else Grouping.POD
    if item is not None:
        gang, problems = item.gang, item.problems
    else:
        gang, problems = gang_of(kind, None, []) if kind is not None else Gang(), ()
    series = (number for number, link in enumerate(links) if link.kind is not None and link.kind.is_series)
    first = next(series, len(links))
    ordered = (*reversed(links[:first]), *links[first:])
    chain = tuple(link.item for link in ordered if link.item is not None)
    return Owner(meta, kind, grouping, gang, item is not None, problems, chain=chain)


def _groups_below(link: Link) -> bool:
    return link.kind is not None and link.kind.pod_group is Grouping.BELOW


def _only_named(namespace: str, reference: OwnerReference) -> ObjectMeta:
    return ObjectMeta(name=reference.name, namespace=namespace, uid=reference.uid)


class OwnerLookup(Protocol):
    """Looks up owners."""

    def begin(self) -> set[str]:
        """An observation begins. All pods that it looks at exist.

        Returns the uids of owners that changed since they were looked up.
        """

    def wait(self) -> float | None:
        """Seconds until an observation should begin, to find changed owners. None: no matter when."""

    def refused_kinds(self) -> Mapping[str, str]:
        """Kinds that may not be read, and why."""

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """The owner that pods with this owner are grouped by. None: not available for now, retry."""

    def unread(self, namespace: str, reference: OwnerReference) -> str:
        """Why an owner is not available, if it or one above it may not be read; "": that is not why."""

    @property
    def kinds(self) -> OwnerKinds:
        """The known kinds."""


class NoOwnerLookup:
    """Knows only the references in pods, for objects without an API server."""

    kinds = built_in_kinds()

    def begin(self) -> set[str]:
        """Begin an observation; return no uids: nothing is read."""
        return set()

    def wait(self) -> float | None:
        """None: owners never change."""
        return None

    def top(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """The direct owner, or what its name and kind show."""
        return owner_of([link_of(self.kinds, namespace, reference)])

    def refused_kinds(self) -> Mapping[str, str]:
        """Empty: no kind is read."""
        return {}

    def unread(self, namespace: str, reference: OwnerReference) -> str:
        """Empty: nothing is refused."""
        return ""
