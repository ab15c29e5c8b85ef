"""What the resource claims of pods require, updated pod by pod and claim by claim.

allocated                    only nodes that can use its devices, which it keeps
not allocated                a row of the snapshot with the devices that it requests, if the adapter
                             allocates devices; else the pod waits
missing, not supported, ...  the pod waits, and its reason names the field
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.devices.claim_index import ClaimIndex, ClaimUse
from tenure.kubernetes.devices.claim_rows import ClaimRows
from tenure.kubernetes.devices.device_sets import CLAIMED_GPUS, DeviceSets, Kinds
from tenure.kubernetes.devices.extended_resources import ExtendedClaim, extended_claim, is_extended_claim
from tenure.kubernetes.devices.node_devices import NodeDevices, plugin_label, served_label
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.device_claims import ResourceClaim
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.resource_amounts import is_gpu
from tenure.kubernetes.rows.row_table import WarningCollector
from tenure.kubernetes.rows.shapes import InternedShape
from tenure.kubernetes.volumes.matching import ClaimName, name_of
from tenure.kubernetes.volumes.node_terms import AnyOf, NodeRequirement, Term, terms_of
from tenure.kubernetes.volumes.pod_volumes import with_nodes
from tenure.v1 import snapshot_pb2 as pb

MAX_CONSUMERS: Final = 256
"""Maximum number of pods per claim."""
NOT_ALLOCATING: Final = "the adapter allocates no devices"
_WITHOUT_CLAIMED_GPUS: Final[Term] = (NodeRequirement(CLAIMED_GPUS, "DoesNotExist"),)


class ClaimChanges(NamedTuple):
    """What is to be read again."""

    pods: set[str]
    """Uids of pods with claims."""
    all_nodes: bool
    all_gpu_pods: bool
    """Whether there are GPUs that only claims can use, and were none, or the reverse."""


class PodClaims:
    """For one thread. `index` has the claims of pods."""

    def __init__(self, caches: ObjectCaches, scheduler_name: str) -> None:
        self._caches = caches
        self.index = ClaimIndex(caches.resource_claims, scheduler_name)
        self.allocator_problem: Callable[[], str] = lambda: NOT_ALLOCATING
        """Why the adapter allocates no devices now; "": it does."""
        self._known_problem = NOT_ALLOCATING
        self.sets = DeviceSets(caches)
        self.rows = ClaimRows(self.sets)
        self.nodes = NodeDevices(self.sets, self.index)
        self._has_news = False
        """Whether claims changed since the last call of `warn`."""
        self._nodes: frozenset[str] = frozenset()
        """Names of all nodes of the snapshot."""
        self._wanted: defaultdict[Kinds, Counter[str]] = defaultdict(Counter)
        """Claims with pods of this scheduler, by what they request and namespace."""
        self._wanting: dict[ClaimName, frozenset[Kinds]] = {}
        self._unbound: dict[ClaimName, str] = {}
        """Uids of allocated claims all of whose consumers are pods of this scheduler without a node."""
        self.recheck_seconds: float | None = None
        """When devices of given-up decisions are to be freed, in seconds since 1970. None: never."""
        self._kept_off: dict[tuple[str, AnyOf], InternedShape] = {}
        """Shapes with GPUs that are not given through claims of their pods, by id and nodes."""

    def put(self, uid: str, pod: Pod | None) -> None:
        """Update a pod; None: it is gone."""
        self.index.put(uid, pod)
        if pod is None or pod.spec.node_name:
            self._caches.device_waits.forget(uid)

    def take_changes(self, nodes: frozenset[str], now_seconds: float) -> ClaimChanges:
        """Changes since the last call. `nodes` are the names of all nodes of the snapshot."""
        classes = self.sets.read_classes()
        pods = set[str]() if classes is None else self.index.use_classes(classes)
        touched = self.index.take_changes()
        for name in touched:
            self._want(name)
            self._note_unbound(name)
        problem, had_gpus = self.allocator_problem(), self.sets.has_gpus
        has_new_nodes = nodes is not self._nodes and nodes != self._nodes
        is_new = self.sets.update(self._wanted) or problem != self._known_problem or has_new_nodes
        is_new = self.nodes.update() or is_new
        self._has_news = self._has_news or is_new or bool(touched)
        self._known_problem, self._nodes = problem, nodes
        self.rows.note(touched)
        self.rows.note(self.index.names() if is_new else ())
        if has_new_gpus := had_gpus is not self.sets.has_gpus:
            self._kept_off.clear()
        pods |= self._caches.device_waits.take_changes(now_seconds)
        pods.update(self.index.pods if is_new else ())
        pods.update(*map(self.index.users, touched))
        return ClaimChanges(pods, is_new, has_new_gpus)

    def update_rows(self, find_pod: Callable[[str], pb.Pod | None], changed_pods: frozenset[str]) -> None:
        """Update the rows of claims, after those of pods; `changed_pods` are uids of rows that changed."""
        self.rows.note(use.name for uid in changed_pods for use in self.index.uses(uid))
        for name in self.rows.take_noted():
            claim = self.index.claim(name)
            if claim is None or not self._has_row(claim):
                self.rows.remove(name)
            else:
                pods = {uid: find_pod(uid) for uid in self.index.users(name)}
                self.rows.put(claim, self._amounts(name, claim), pods)

    @property
    def next_change_seconds(self) -> float | None:
        """When devices are to be freed, or selectors to be evaluated further (at once); None: never."""
        return self.recheck_seconds if self.sets.is_complete else 0.0

    def unused(self, identity: str) -> list[ResourceClaim]:
        """Claims that this adapter allocated, and whose consumers are all pods that it has not bound."""
        claims = (self.index.find(uid) for _, uid in sorted(self._unbound.items()))
        return [
            claim
            for claim in claims
            if claim is not None and claim.metadata.annotations.get(names.DEVICE_ALLOCATOR) == identity
        ]

    def ids(self, uid: str) -> list[str]:
        """IDs of the rows of a pod's claims."""
        claims = self.index.claims(uid)
        found = (name_of(claim.metadata) for claim in claims if self._has_row(claim))
        return [f"{name.namespace}/{name.name}" for name in dict.fromkeys(found)]

    def is_exact(self, uid: str) -> bool:
        """Whether the devices of a pod can be counted exactly, so that pods may be evicted for it."""
        unallocated = (claim for claim in self.index.claims(uid) if claim.status.allocation is None)
        needs = map(self.index.needs, unallocated)
        return all(one is None or self.sets.is_exact(one) for one in needs)

    def constrain(self, uid: str, shaped: InternedShape) -> InternedShape:
        """The shape of a pod on nodes that can use its devices."""
        extended, uses = self.index.extended_of(uid), self.index.uses(uid)
        problems = {use: self.problem(uid, use) for use in uses}
        why = problems[uses[-1]] if extended is not None else ""
        if shaped.row.HasField("gpu") and self.sets.has_gpus:
            shaped = self._off_claimed_gpus(shaped, None if why else extended)
        if not uses:
            return shaped
        allocations = (claim.status.allocation for claim in self.index.claims(uid))
        nodes = [terms_of(one.node_selector) for one in allocations if one is not None]
        if avoided := self._caches.device_waits.avoided(uid):
            nodes.append(((NodeRequirement(names.NODE_NAME_FIELD, "NotIn", avoided),),))
        if off := self._off_plugins(uid):
            nodes.append((off,))
        if extended is not None and why and all(map(self.nodes.has_plugin, extended.classes)):
            problems[uses[-1]] = ""
            if self.sets.inventory.devices:
                labels = (served_label(one) for one in sorted(extended.classes))
                nodes.append((tuple(NodeRequirement(label, "DoesNotExist") for label in labels),))
        return with_nodes(shaped, next(filter(None, problems.values()), ""), nodes, {})

    def for_node(self, uid: str, node: str) -> ExtendedClaim | None:
        """The claim of a pod for extended resources that devices of a node serve; None: it needs none."""
        extended, pod = self.index.extended_of(uid), self.index.pods.get(uid)
        if extended is None or pod is None:
            return None
        served = {
            resource: device_class
            for resource, device_class in extended.classes.items()
            if not self.nodes.has_plugin(resource, node)
        }
        return extended_claim(pod, served)

    def uses_on(self, uid: str, node: str) -> list[ClaimUse]:
        """The claims that a pod needs on a node: none for extended resources that device plugins serve."""
        uses = self.index.uses(uid)
        return [use for use in uses if use.entry or self.for_node(uid, node) is not None]

    def problem(self, uid: str, use: ClaimUse) -> str:
        """Why a pod cannot use one of its claims now; "": it can."""
        followed = self._caches.followed_collections
        if followed and "resource_claims" not in followed:
            return f"resourceClaims[{use.entry!r}] is not supported: the API server has no resource.k8s.io/v1"
        if not use.name.name:
            return f"resource claim for {use.entry!r} is not created yet"
        claim, about = self.index.claim(use.name), f"resource claim {use.name.name!r}"
        if claim is None:
            return f"{about} does not exist"
        is_other = not use.entry and claim.metadata.resource_version and not is_extended_claim(claim)
        if is_other or (use.is_own and all(owner.uid != uid for owner in claim.metadata.owner_references)):
            return f"{about} was not created for this pod"
        if claim.metadata.deletion_timestamp is not None:
            return f"{about} is terminating"
        if claim.status.allocation is None:
            problem = self._allocation_problem(claim)
            if not use.entry and problem:
                return self._problem_of_extended(use.name, problem)
            return problem and f"{about} has no status.allocation, and {problem}"
        if any(device.binding_conditions for device in claim.status.allocation.devices.results):
            return f"{about} has status.allocation.devices.results.bindingConditions, which is not supported"
        consumers = claim.status.reserved_for
        if len(consumers) >= MAX_CONSUMERS and all(one.uid != uid for one in consumers):
            return f"{about} is reserved for {MAX_CONSUMERS} pods, the maximum"
        return ""

    def warn(self, warnings: WarningCollector) -> None:
        """Tell that another scheduler may allocate, and that a device was given twice."""
        if not self._has_news:
            return
        self._has_news = False
        pods = [] if self._known_problem else self.index.foreign_waiting()
        about, texts = "", list[str]()
        if pods:
            meta, scheduler = pods[0].metadata, pods[0].spec.scheduler_name
            about = f"Pod {meta.namespace}/{meta.name}"
            more = f", and {len(pods) - 1} more such pods exist" if len(pods) > 1 else ""
            texts = [f"its scheduler {scheduler!r} may allocate devices that the adapter allocates{more}"]
        warnings.replace("other device allocator", about, texts)
        twice = self.index.holders.twice()
        about = f"Device {'/'.join(twice[0])}" if twice else ""
        texts = [f"several resource claims have it, and {len(twice) - 1} more devices"] if twice else []
        warnings.replace("device twice", about, texts)

    def _allocation_problem(self, claim: ResourceClaim) -> str:
        """Why the adapter cannot allocate a claim now; "": it can."""
        if self._known_problem:
            return self._known_problem
        if refusal := self.index.refusal(claim):
            return f"its {refusal}"
        needs = self.index.needs(claim)
        return "it is not read yet" if needs is None else self.sets.problem(needs)

    def _has_row(self, claim: ResourceClaim) -> bool:
        """Whether a claim has a row: it keeps devices of a node, or can be allocated."""
        if self._known_problem == NOT_ALLOCATING:
            return False
        name = name_of(claim.metadata)
        if self.index.extended(name) is not None and not self._amounts(name, claim):
            return False
        if claim.status.allocation is not None:
            nodes = self.rows.nodes_of(claim)
            return len(nodes) == 1 and nodes <= self._nodes
        is_used = name in self._wanting
        return is_used and claim.metadata.deletion_timestamp is None and not self._allocation_problem(claim)

    def _want(self, name: ClaimName) -> None:
        """Update what a claim with pods of this scheduler requests."""
        for kinds in self._wanting.pop(name, ()):
            self._wanted[kinds][name.namespace] -= 1
            if not self._wanted[kinds][name.namespace]:
                del self._wanted[kinds][name.namespace]
            if not self._wanted[kinds]:
                del self._wanted[kinds]
        claim = self.index.claim(name)
        needs = None if claim is None else self.index.needs(claim)
        if needs is not None and any(map(self.index.is_ours, self.index.users(name))):
            self._wanting[name] = frozenset(request.kinds for request in needs.requests)
            for kinds in self._wanting[name]:
                self._wanted[kinds][name.namespace] += 1

    def _note_unbound(self, name: ClaimName) -> None:
        claim = self.index.claim(name)
        self._unbound.pop(name, None)
        if claim is None or claim.status.allocation is None or not claim.status.reserved_for:
            return
        if all(self.index.is_unbound(one.uid) for one in claim.status.reserved_for):
            self._unbound[name] = claim.metadata.uid

    def _amounts(self, name: ClaimName, claim: ResourceClaim) -> dict[str, int]:
        """Devices of each set that a claim has, or else requests."""
        extended = self.index.extended(name)
        needs = self.index.needs(claim if extended is None else extended.claim)
        return self.rows.amounts(claim, needs, extended)

    def _problem_of_extended(self, name: ClaimName, problem: str) -> str:
        """Why no devices serve extended resources of a pod: the first that no device plugin serves."""
        extended = self.index.extended(name)
        classes = sorted(extended.classes.items()) if extended is not None else []
        lacking = [one for one in classes if not self.nodes.has_plugin(one[0])]
        resource, device_class = next(iter(lacking or classes))
        return (
            f"no node has resource {resource!r} in its status.allocatable, and devices of class "
            f"{device_class!r} cannot serve it: {problem}"
        )

    def _off_plugins(self, uid: str) -> Term:
        """Keeps claims off nodes whose device plugins serve the devices that they request."""
        of_plugins = self.nodes.of_plugins()
        if not of_plugins:
            return ()
        uses = (use for use in self.index.uses(uid) if use.entry)
        claims = [claim for use in uses if (claim := self.index.claim(use.name)) is not None]
        needs = [self.index.needs(claim) for claim in claims if claim.status.allocation is None]
        wanted = {name for one in needs if one is not None for name in self.sets.requested(one)}
        return tuple(
            NodeRequirement(plugin_label(one), "DoesNotExist") for one in sorted(wanted & of_plugins)
        )

    def _off_claimed_gpus(self, shaped: InternedShape, extended: ExtendedClaim | None) -> InternedShape:
        """The shape on nodes whose GPUs are not given through claims, or serve its extended resources."""
        any_of: AnyOf = (_WITHOUT_CLAIMED_GPUS,)
        served = [served_label(one) for one in sorted(extended.classes) if is_gpu(one)] if extended else []
        if served:
            any_of = (*any_of, tuple(NodeRequirement(label, "Exists") for label in served))
        found = self._kept_off.get((shaped.row.id, any_of))
        if found is None or found.warnings != shaped.warnings:
            found = self._kept_off[shaped.row.id, any_of] = with_nodes(shaped, "", [any_of], {})
        return found
