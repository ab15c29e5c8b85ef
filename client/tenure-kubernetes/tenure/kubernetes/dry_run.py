"""A dry run: one reconcile without any write, not even of the lease."""

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.integration.journal_format import load_journal
from tenure.integration.journal_rows import JournalRows
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.journal_store import ConfigMapStore
from tenure.kubernetes.limits.server_refusals import server_limits
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations
from tenure.kubernetes.owners.lookup import ApiOwnerLookup
from tenure.kubernetes.rows.row_table import ObjectWarning
from tenure.kubernetes.settings import AdapterSettings
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import Decision
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.row_limits import SenderLimits


class DryRun(NamedTuple):
    """The observed cluster and the response."""

    snapshot: ClusterSnapshot
    response: DecideResponse
    warnings: list[ObjectWarning]


def dry_run(settings: AdapterSettings, transport: Transport, client: Client) -> DryRun:
    """Observe and request decisions. Raises ApiError, JournalUnreadable and TenureError."""
    caches = ObjectCaches.create(lambda: None)
    for reflector in caches.follow(transport, settings.unfollowed_collections()):
        reflector.list_once()
    now = Timestamp()
    now.GetCurrentTime()
    store = ConfigMapStore(transport, settings.namespace, settings.lease, lambda: False)
    journal = load_journal(store)
    owners = ApiOwnerLookup(
        transport, patience=0, kinds=settings.all_owner_kinds(), find_pod=caches.pods.find
    )
    stored = StoredAnnotations(store.signing_key)
    limits = server_limits(client) or SenderLimits()
    builder = SnapshotBuilder(caches, settings.snapshot_scope(), owners, stored, limits)
    snapshot = builder.snapshot(now)
    JournalRows(journal, builder).complete(snapshot)
    return DryRun(snapshot, client.decide(snapshot), builder.warnings.take_new())


def decision_rows(run: DryRun) -> Iterator[dict[str, str]]:
    """One row per decision, with names instead of uids where they are known."""
    groups = {row.uid: f"{row.namespace}/{row.name}" for row in run.snapshot.pod_groups}
    pods = {row.uid: (row.name, groups.get(row.pod_group, row.pod_group)) for row in run.snapshot.pods}
    for group in run.response.groups:
        for decision in group.decisions:
            kind = decision.WhichOneof("kind") or "unknown"
            name, owner = pods.get(_pod(decision), ("", ""))
            yield {
                "group": group.id,
                "action": group.action,
                "beneficiary": groups.get(group.beneficiary, group.beneficiary),
                "kind": kind,
                "pod": name,
                "pod_group": owner or groups.get(_pod_group(decision), _pod_group(decision)),
                "node": _node(decision),
                "reason": decision.reason.message,
            }


def _pod(decision: Decision) -> str:
    return decision.bind.pod or decision.evict.pod or decision.reserve.pod


def _node(decision: Decision) -> str:
    return decision.bind.node or decision.evict.node or decision.reserve.node


def _pod_group(decision: Decision) -> str:
    return decision.patch.pod_group or decision.requeue.pod_group
