"""What an adapter would do now: one round without a write, not even of the lease."""

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.kubernetes.ledger.rows import LedgerRows
from tenure.client.kubernetes.ledger.store import Store
from tenure.client.kubernetes.observe.mirrors import WORKLOAD_APIS, Mirrors
from tenure.client.kubernetes.observe.owners import ApiOwners
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.observe.warnings import Warned
from tenure.client.kubernetes.settings import AdapterSettings, WorkloadApi
from tenure.client.kubernetes.transport import Transport
from tenure.v1.decision_pb2 import Decision
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot


class DryRun(NamedTuple):
    """What was observed, and what would be done."""

    snapshot: ClusterSnapshot
    answer: DecideResponse
    warnings: list[Warned]


def dry_run(settings: AdapterSettings, transport: Transport, client: Client) -> DryRun:
    """Observe and ask. Raises ApiFailure, LedgerUnreadable and TenureError."""
    mirrors = Mirrors.waking(lambda: None)
    for reflector in mirrors.follow(transport, left_out(settings.workload_api)):
        reflector.list_once()
    now = Timestamp()
    now.GetCurrentTime()
    picture = Picture(mirrors, settings.picture(), ApiOwners(transport, patience=0))
    snapshot = picture.snapshot(now)
    store = Store(transport, settings.namespace, settings.lease, lambda: False)
    LedgerRows(store.load(), picture).complete(snapshot)
    return DryRun(snapshot, client.decide(snapshot), picture.warnings.take())


def steps(run: DryRun) -> Iterator[dict[str, str]]:
    """Each step, with names in place of uids where they are known."""
    groups = {row.uid: f"{row.namespace}/{row.name}" for row in run.snapshot.pod_groups}
    pods = {row.uid: (row.name, groups.get(row.pod_group, row.pod_group)) for row in run.snapshot.pods}
    for group in run.answer.groups:
        for decision in group.decisions:
            kind = decision.WhichOneof("step") or "unknown"
            name, owner = pods.get(_pod(decision), ("", ""))
            yield {
                "group": group.id,
                "action": group.action,
                "beneficiary": groups.get(group.beneficiary, group.beneficiary),
                "step": kind,
                "pod": name,
                "pod_group": owner or groups.get(_pod_group(decision), _pod_group(decision)),
                "node": _node(decision),
                "reason": decision.reason.message,
            }


def left_out(api: WorkloadApi) -> frozenset[str]:
    """Collections that are not followed."""
    if api is WorkloadApi.AUTO:
        return frozenset()
    return frozenset[str]().union(*(names for name, names in WORKLOAD_APIS.items() if name != api.value))


def _pod(decision: Decision) -> str:
    return decision.bind.pod or decision.evict.pod or decision.hold.pod


def _node(decision: Decision) -> str:
    return decision.bind.node or decision.evict.node or decision.hold.node


def _pod_group(decision: Decision) -> str:
    return decision.patch.pod_group or decision.requeue.pod_group
