"""The decision applier of Kubernetes: evictions and bindings of pods, and their preconditions."""

from collections.abc import Callable, Mapping, Sequence

from tenure.client.public_messages import format_notice
from tenure.integration.ownership import ENDING, UNREQUESTED, pod_of
from tenure.integration.ports import APPLIED, ApplyResult, EvictionBudget, precondition_failed, retry
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.apply.owner_writes import OwnerWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_budgets import PodBudgets
from tenure.kubernetes.apply.pod_writes import PodName, PodWriter, gpu_labels
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.node import Node
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.times import write_time
from tenure.kubernetes.rows.pods import ENDED
from tenure.kubernetes.rows.row_table import readable
from tenure.v1.decision_pb2 import Bind, Decision, Evict
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_FAILED
from tenure.v1.snapshot_pb2 import FATE_DELETE


class PodApplier:
    """Implements DecisionApplier. Names of pods come from the object caches.

    Ownership is checked with the other preconditions, and again directly before each write.
    """

    def __init__(
        self, writer: PodWriter, caches: ObjectCaches, ownership: Ownership, owners: OwnerWriter
    ) -> None:
        self._writer, self._pods, self._nodes = writer, caches.pods, caches.nodes
        self._bound_to, self._backoff = caches.bound_to, caches.binding_backoff
        self._budgets = caches.disruption_budgets
        self._ownership, self._owners = ownership, owners

    def preconditions(self) -> Callable[[Decision], str]:
        """A check with the nodes as cached now."""
        nodes = {node.metadata.name: node for node in self._nodes.all()}
        return lambda decision: self._find_violation(decision, nodes)

    def budgets(self) -> Callable[[Decision], Sequence[EvictionBudget]]:
        """Disruption budgets as cached now. Deletions have none."""
        budgets = PodBudgets(self._budgets.all())

        def find(decision: Decision) -> Sequence[EvictionBudget]:
            if self._writer.ignores_budgets(decision.evict):
                return ()
            pod = self._find(decision)
            return budgets.of(pod) if pod is not None else ()

        return find

    def is_visible(self, decision: Decision) -> bool:
        """Whether the object caches show the effect of a decision."""
        pod = self._find(decision)
        if decision.HasField("bind"):
            return pod is not None and pod.spec.node_name == decision.bind.node
        if _is_notice(decision):
            evict_time = "" if pod is None else pod.metadata.annotations.get(names.EVICT_TIME, "")
            return pod is None or evict_time == _evict_time(decision)
        return pod is None or pod.metadata.deletion_timestamp is not None

    def look_up(self, decision: Decision) -> ApplyResult | None:
        """Read the pod of a decision. If that fails, the decision counts as not applied."""
        if _is_notice(decision):
            return None  # sent again, it changes nothing
        pod = self._find(decision)
        if decision.HasField("bind"):
            if pod is None:
                return precondition_failed("the pod is gone")
            known = self._writer.check_binding(_name(pod), decision.bind.node, None)
            self._note_binding(decision.bind, known)
            return None if known.is_retryable else known
        if pod is None:
            return APPLIED
        known = self._writer.check_eviction(_name(pod), None)
        return self._end(decision.evict, pod) or known if known.status == APPLY_STATUS_APPLIED else None

    def apply(self, decision: Decision) -> ApplyResult:
        """Bind or evict the pod. Raises LeaseLost."""
        pod = self._find(decision)
        if foreign := self._ownership.refuse(decision):
            return precondition_failed(foreign)
        if _is_notice(decision):
            gone = precondition_failed("the pod is gone") if decision.HasField("notify") else APPLIED
            sentence = format_notice(decision.notify)
            return gone if pod is None else self._writer.notify(_name(pod), _evict_time(decision), sentence)
        if decision.HasField("evict"):
            result = APPLIED if pod is None else self._writer.evict(_name(pod), decision.evict)
            if pod is None or result.status != APPLY_STATUS_APPLIED:
                return result
            return self._end(decision.evict, pod) or result
        if pod is None:
            return precondition_failed("the pod is gone")
        bind = decision.bind
        labels = gpu_labels(bind.gpu_groups, bind.node, pod.metadata.labels)
        result = self._writer.bind(_name(pod), bind.node, labels)
        self._note_binding(bind, result)
        if result.status == APPLY_STATUS_FAILED and not result.is_retryable:
            self._backoff.refuse(bind.pod, readable(f"its binding to {bind.node} failed: {result.detail}"))
        return result

    def _end(self, evict: Evict, pod: Pod) -> ApplyResult | None:
        """Delete or suspend the owner of an evicted pod, if its fate is that; None: nothing more to say.

        The pod is evicted in any case. A call that fails for now is repeated while the pod terminates.
        """
        if evict.fate not in ENDING:
            return None
        what = "deleted" if evict.fate == FATE_DELETE else "suspended"
        if not self._ownership.has_fate(evict):
            return ApplyResult(APPLY_STATUS_APPLIED, f"not {what}: {UNREQUESTED}")
        try:
            problem = self._owners.end(pod, evict.fate)
        except ApiError as failure:
            problem = retry(str(failure))
        if problem is None or problem.is_retryable:
            return problem
        return ApplyResult(APPLY_STATUS_APPLIED, f"not {what}: {problem.detail}")

    def _note_binding(self, bind: Bind, result: ApplyResult) -> None:
        """Remember a binding, because the cache of pods may show it after later changes of other objects."""
        if result.status == APPLY_STATUS_APPLIED:
            self._bound_to[bind.pod] = bind.node

    def _find(self, decision: Decision) -> Pod | None:
        return self._pods.find(pod_of(decision))

    def _find_violation(self, decision: Decision, nodes: Mapping[str, Node]) -> str:
        match decision.WhichOneof("kind"):
            case "bind":
                node = decision.bind.node
                violation = self._check_pod(decision.bind) or _check_node(node, nodes.get(node))
            case "evict":
                violation = self._check_running(decision.evict.pod, decision.evict.node)
            case "notify":
                violation = self._check_running(decision.notify.pod, decision.notify.node)
            case _:
                return ""
        return violation or self._ownership.refuse(decision)

    def _check_pod(self, bind: Bind) -> str:
        pod = self._pods.find(bind.pod)
        if pod is None:
            return "the pod is gone"
        if pod.spec.node_name and pod.spec.node_name != bind.node:
            return f"the pod is on node {pod.spec.node_name}"
        if _is_terminating(pod):
            return "the pod is terminating"
        if pod.spec.scheduling_gates:
            return "the pod has a scheduling gate"
        return ""

    def _check_running(self, uid: str, node: str) -> str:
        pod = self._pods.find(uid)
        if pod is None:
            return "the pod is gone"
        if _is_terminating(pod):
            return "the pod is terminating"
        if pod.spec.node_name != node:
            return f"the pod is on node {pod.spec.node_name or 'none'}, not on {node}"
        return ""


def _check_node(name: str, node: Node | None) -> str:
    if node is None or node.metadata.deletion_timestamp is not None:
        return f"node {name} is gone"
    if node.spec.unschedulable:
        return f"node {name} is cordoned"
    if any(one.type == "Ready" and one.status != "True" for one in node.status.conditions):
        return f"node {name} is not ready"
    return ""


def _is_notice(decision: Decision) -> bool:
    return decision.WhichOneof("kind") in ("notify", "withdraw_notice")


def _evict_time(decision: Decision) -> str:
    """Time of a notice; "": it is taken back."""
    return write_time(decision.notify.evict_time) if decision.HasField("notify") else ""


def _name(pod: Pod) -> PodName:
    return PodName(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
