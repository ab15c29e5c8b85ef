"""What the volume claims of pods require, updated pod by pod and claim by claim."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.constraints.affinity import Unrepresentable
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.resource_amounts import Amounts, add
from tenure.kubernetes.objects.storage import VolumeClaim
from tenure.kubernetes.rows.indexes import drop
from tenure.kubernetes.rows.shapes import InternedShape, shape_id
from tenure.kubernetes.volumes.attach_limits import AttachedVolume, AttachLimits, attached_volume
from tenure.kubernetes.volumes.catalog import Catalog
from tenure.kubernetes.volumes.matching import (
    ONE_POD,
    SELECTED_NODE,
    ClaimName,
    class_name,
    is_bound,
    nodes_of,
)
from tenure.kubernetes.volumes.node_terms import NOWHERE, AnyOf, NodeRequirement, only_node, restrict
from tenure.kubernetes.volumes.single_users import SingleUsers
from tenure.v1 import snapshot_pb2 as pb

_LOST: Final = "Lost"


class ClaimUse(NamedTuple):
    """A claim of a pod."""

    name: ClaimName
    is_own: bool
    """Whether it is made for the pod alone, and must be owned by it."""


class VolumeNeeds(NamedTuple):
    """What the volumes of a pod require of its node."""

    problem: str
    """Why no node can have the pod; "": some may."""
    nodes: tuple[AnyOf, ...]
    """Sets of nodes; the pod must be in all."""
    attached: frozenset[AttachedVolume]


_NONE: Final = VolumeNeeds("", (), frozenset())


class PodVolumes:
    """Claims by pod and pods by claim. For one thread; reading `catalog` is for all threads."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._caches, self._waits = caches, caches.volume_waits
        self.catalog = Catalog(caches)
        self.limits = AttachLimits(caches, self.catalog.volume)
        self._drivers = self.limits.drivers
        self._pods: dict[str, Pod] = {}
        """Pods with claims, by uid."""
        self._uses: dict[str, tuple[ClaimUse, ...]] = {}
        self._users: defaultdict[ClaimName, set[str]] = defaultdict(set)
        self._single = SingleUsers(self._users, self._pods, self._is_for_one)
        self._of_class: defaultdict[str, set[str]] = defaultdict(set)
        """Pods with an unbound claim, by storage class."""
        self._selecting: defaultdict[str, set[str]] = defaultdict(set)
        """Pods with an unbound claim for which a node is selected, by node."""
        self._indexed: defaultdict[str, list[tuple[defaultdict[str, set[str]], str]]] = defaultdict(list)
        """Entries of each pod in these two."""
        self._nodes: set[str] = set()
        """Names of all nodes."""
        self._problems: dict[str, str] = {}
        """Why no node can have a pod, as of its last `needs`."""
        self._changed: set[str] = set()
        self._has_news = False
        """Whether a claim changed that a pod waits for after it was assigned to a node."""

    def put(self, uid: str, pod: Pod | None) -> None:
        """Update a pod; None: it is gone. Other users of its claims may change, too."""
        for use in self._uses.pop(uid, ()):
            drop(self._users, use.name, uid)
            self._single.note(use.name)
        self._pods.pop(uid, None)
        self._problems.pop(uid, None)
        uses = claims_of(pod) if pod is not None and self._caches.has_volumes else ()
        if pod is None or not uses:
            self._waits.forget(uid)
            self._leave(uid)
            return
        self._pods[uid], self._uses[uid] = pod, uses
        for use in uses:
            self._users[use.name].add(uid)
            self._single.note(use.name)
        if pod.spec.node_name:
            self._waits.forget(uid)

    def take_changes(self, nodes: Set[str], existing: Set[str], now_seconds: float) -> set[str]:
        """Uids of the pods to read again. `nodes` are names of changed nodes, `existing` those of all."""
        claims, classes, is_all = self.catalog.take_changes()
        is_all |= self._drivers != self.limits.drivers
        self._drivers = self.limits.drivers
        self._changed |= self._single.take_changes(claims)
        pods, self._changed = self._changed | self._waits.take_changes(now_seconds), set()
        users = {uid for name in claims for uid in self._users.get(name, ())}
        self._has_news = not users.isdisjoint(self._waits.waits)
        pods |= users
        for name in classes:
            pods |= self._of_class.get(name, set())
        for name in nodes:
            if (name in existing) is not (name in self._nodes):
                pods |= self._selecting.get(name, set())
        if nodes:
            self._nodes = set(existing)
        return set(self._pods) if is_all else pods & self._pods.keys()

    def recheck_seconds(self, now_seconds: float) -> float | None:
        """When to look again at bindings that wait for volumes, in seconds since 1970. None: never."""
        return now_seconds if self._has_news else self._waits.next_change_seconds

    def uses(self, uid: str) -> tuple[ClaimUse, ...]:
        """The claims of a pod."""
        return self._uses.get(uid, ())

    def needs(self, uid: str) -> VolumeNeeds:
        """What the volumes of a pod require."""
        pod = self._pods.get(uid)
        self._leave(uid)
        if pod is None:
            return _NONE
        problem, nodes, attached = "", list[AnyOf](), set[AttachedVolume]()
        avoided = self._waits.avoided(uid)
        for use in self._uses[uid]:
            claim = self.catalog.claim(use.name)
            found = self.claim_problem(pod, use) or self._find(uid, claim, nodes, attached)
            problem = problem or found
        if avoided:
            nodes.append(((NodeRequirement(names.NODE_NAME_FIELD, "NotIn", avoided),),))
        if problem:
            self._problems[uid] = problem
        else:
            self._problems.pop(uid, None)
        return VolumeNeeds(problem, tuple(nodes), frozenset(attached))

    def place(self, uid: str, node: str) -> Amounts:
        """Set the node of a pod; "": none. Returns what its volumes use there."""
        if uid not in self._pods:
            self.limits.put(uid, "", ())
            return {}
        attached = self.needs(uid).attached
        self.limits.put(uid, node, attached)
        return self.limits.request(attached)

    def constrain(self, uid: str, shaped: InternedShape) -> InternedShape:
        """The shape of a pod with what its volumes require."""
        if uid not in self._pods:
            return shaped
        needs = self.needs(uid)
        return with_nodes(shaped, needs.problem, needs.nodes, self.limits.request(needs.attached))

    def problem(self, uid: str) -> str:
        """Why no node can have a pod; "": some may."""
        return self._problems.get(uid, "")

    def claim_problem(self, pod: Pod, use: ClaimUse) -> str:
        """Why no node can use a claim now; "": some can, or nothing is known of it yet."""
        claim = self.catalog.claim(use.name)
        about = f"volume claim {use.name.name!r}"
        if claim is None:
            return f"{about} does not exist"
        if use.is_own and all(owner.uid != pod.metadata.uid for owner in claim.metadata.owner_references):
            return f"{about} was not created for this pod"
        if claim.metadata.deletion_timestamp is not None:
            return f"{about} is terminating"
        if claim.status.phase == _LOST:
            return f"{about} has lost its volume"
        if is_bound(claim):
            if self.catalog.volume(claim.spec.volume_name) is None:
                return f"volume {claim.spec.volume_name!r} of {about} does not exist"
        elif not self.catalog.waits_for_pod(claim):
            return f"{about} is not bound yet{self._why_unbound(claim)}"
        if ONE_POD in claim.spec.access_modes and (other := self._single.other_user(pod, use.name)):
            return f"{about} allows one pod, and pod {other!r} uses it"
        return ""

    def _why_unbound(self, claim: VolumeClaim) -> str:
        name = class_name(claim)
        if claim.spec.volume_name:
            return f": it waits for volume {claim.spec.volume_name!r}"
        if not name:
            return ": it has no storage class, and no volume without one matches"
        return "" if self.catalog.class_of(claim) is not None else f": storage class {name!r} does not exist"

    def _find(
        self, uid: str, claim: VolumeClaim | None, nodes: list[AnyOf], attached: set[AttachedVolume]
    ) -> str:
        """Add what a usable claim requires. Returns why no node can have the pod."""
        if claim is None:
            return ""
        if is_bound(claim):
            volume = self.catalog.volume(claim.spec.volume_name)
            if volume is None:
                return ""
            nodes.append(nodes_of(volume))
            attached.update(attached_volume(volume))
            return "" if nodes[-1] else f"no node matches volume {volume.metadata.name!r}"
        self._add(self._of_class, class_name(claim), uid)
        if (found := self.catalog.class_of(claim)) is not None:
            attached.add(AttachedVolume(found.provisioner, claim.metadata.uid))
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        if selected:
            self._add(self._selecting, selected, uid)
        is_selected = selected in self._nodes
        if is_selected and selected in self._waits.avoided(uid):
            return (
                f"volume claim {claim.metadata.name!r} was not bound in time on node {selected}, "
                "which its annotation selects"
            )
        nodes.append(only_node(selected) if is_selected else self.catalog.candidates(claim))
        if nodes[-1] != NOWHERE:
            return ""
        kind = f"storage class {class_name(claim)!r}"
        return (
            f"volume claim {claim.metadata.name!r} can have no volume on any node: no free volume of "
            f"{kind} matches, and none can be provisioned"
        )

    def _is_for_one(self, name: ClaimName) -> bool:
        claim = self.catalog.claim(name)
        return claim is not None and ONE_POD in claim.spec.access_modes

    def _add(self, index: defaultdict[str, set[str]], key: str, uid: str) -> None:
        if uid not in index[key]:
            index[key].add(uid)
            self._indexed[uid].append((index, key))

    def _leave(self, uid: str) -> None:
        """Remove a pod from the indices of what it waits for."""
        for index, key in self._indexed.pop(uid, ()):
            drop(index, key, uid)


def with_nodes(
    shaped: InternedShape, problem: str, nodes: Sequence[AnyOf], requests: Amounts
) -> InternedShape:
    """A shape with further requests, for nodes in all of these sets; a problem or an empty set blocks it."""
    row = pb.PodShape()
    row.CopyFrom(shaped.row)
    row.ClearField("id")
    for name, amount in requests.items():
        row.requests.extended[name] += amount
    problem = shaped.blocked_reason or problem
    try:
        restrict(row, nodes)
    except Unrepresentable as unable:
        problem = problem or str(unable)
    row.id = shape_id(row)
    usage = dict(shaped.usage)
    add(usage, requests)
    return shaped._replace(row=row, blocked_reason=problem, usage=usage)


def claims_of(pod: Pod) -> tuple[ClaimUse, ...]:
    """The claims of a pod, in order."""
    return tuple(dict.fromkeys(_claims_of(pod)))


def _claims_of(pod: Pod) -> Iterator[ClaimUse]:
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(ClaimName(namespace, volume.persistent_volume_claim.claim_name), False)
        elif volume.ephemeral is not None:
            yield ClaimUse(ClaimName(namespace, f"{pod.metadata.name}-{volume.name}"), True)
