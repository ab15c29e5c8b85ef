"""Decode and encode pod groups that an earlier cycle did not evaluate."""

from collections.abc import Iterable, Sequence

from tenure.codec.checks import MISSING, index_names, time
from tenure.solver.model.caller_state import PostponedPodGroup
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.timestamps import timestamp
from tenure.wire.violations import ViolationCollector


def decode_postponed_pod_groups(
    messages: Sequence[pb.PostponedPodGroup], findings: ViolationCollector
) -> tuple[PostponedPodGroup, ...]:
    """Pod groups that an earlier cycle did not evaluate, by uid."""
    index_names([row.pod_group for row in messages], findings, "pod_group")
    found: dict[str, PostponedPodGroup] = {}
    for i, message in enumerate(messages):
        findings.step()
        if not message.HasField("since"):
            findings.add(i, "since", MISSING)
        found[message.pod_group] = PostponedPodGroup(
            message.pod_group, time(message.since, findings, i, "since")
        )
    return tuple([found[uid] for uid in sorted(found)])


def encode_postponed_pod_groups(rows: Iterable[PostponedPodGroup]) -> list[pb.PostponedPodGroup]:
    """Rows to store."""
    return [pb.PostponedPodGroup(pod_group=row.pod_group, since=timestamp(row.since)) for row in rows]
