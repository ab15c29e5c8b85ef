"""Pods and pod groups as they are in the bytes of a snapshot.

What nearly all of them say has a field of its own. Rows that say more are left to the parser as well.
"""

from typing import Final, NamedTuple

from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.encoding import tag_of
from tenure.wire.reader import WireReader

_PODS: Final = tag_of(pb.ClusterSnapshot, "pods")
_POD_GROUPS: Final = tag_of(pb.ClusterSnapshot, "pod_groups")

_POD_UID: Final = tag_of(pb.Pod, "uid")
_POD_NAME: Final = tag_of(pb.Pod, "name")
_POD_GROUP: Final = tag_of(pb.Pod, "pod_group")
_SUB_GROUP: Final = tag_of(pb.Pod, "sub_group")
_SHAPE: Final = tag_of(pb.Pod, "shape")
_STATUS: Final = tag_of(pb.Pod, "status")
_NODE: Final = tag_of(pb.Pod, "node")
_GPU_GROUPS: Final = tag_of(pb.Pod, "gpu_groups")
_POD_CREATION: Final = tag_of(pb.Pod, "creation_time")

_GROUP_UID: Final = tag_of(pb.PodGroup, "uid")
_GROUP_NAME: Final = tag_of(pb.PodGroup, "name")
_NAMESPACE: Final = tag_of(pb.PodGroup, "namespace")
_QUEUE: Final = tag_of(pb.PodGroup, "queue")
_PRIORITY: Final = tag_of(pb.PodGroup, "priority")
_PREEMPTIBILITY: Final = tag_of(pb.PodGroup, "preemptibility")
_MIN_MEMBER: Final = tag_of(pb.PodGroup, "min_member")
_GROUP_CREATION: Final = tag_of(pb.PodGroup, "creation_time")
_LAST_START: Final = tag_of(pb.PodGroup, "last_start_time")


class PodRow:
    """A pod; fields are those of the message."""

    def __init__(self) -> None:
        self.uid = ""
        self.name = ""
        self.pod_group = ""
        self.sub_group = ""
        self.shape = ""
        self.status = 0
        self.node = ""
        self.gpu_groups: list[str] = []
        self.has_creation = False
        self.creation = (0, 0)
        """Seconds and nanoseconds."""
        self.more = b""
        """The whole message, if it has any other field."""


class PodGroupRow:
    """A pod group; fields are those of the message."""

    def __init__(self) -> None:
        self.uid = ""
        self.name = ""
        self.namespace = ""
        self.queue = ""
        self.priority = 0
        self.preemptibility = 0
        self.min_member: int | None = None
        self.has_creation = False
        self.creation = (0, 0)
        """Seconds and nanoseconds."""
        self.has_last_start = False
        self.last_start = (0, 0)
        self.more = b""
        """The whole message, if it has any other field."""


class WorkloadRows(NamedTuple):
    """The longest lists of a snapshot, in their order."""

    pods: list[PodRow]
    pod_groups: list[PodGroupRow]


def read_rows(snapshot: pb.ClusterSnapshot) -> WorkloadRows:
    """The pods and pod groups of a snapshot."""
    reader = WireReader(snapshot.SerializeToString())
    pods: list[PodRow] = []
    pod_groups: list[PodGroupRow] = []
    while tag := reader.tag():
        if tag == _PODS:
            pods.append(_pod(reader))
        elif tag == _POD_GROUPS:
            pod_groups.append(_pod_group(reader))
        else:
            reader.skip(tag)
    return WorkloadRows(pods, pod_groups)


def _pod(reader: WireReader) -> PodRow:
    row, has_more = PodRow(), False
    outer = reader.enter()
    start = reader.at
    while tag := reader.tag():
        if tag == _POD_UID:
            row.uid = reader.text()
        elif tag == _POD_NAME:
            row.name = reader.text()
        elif tag == _POD_GROUP:
            row.pod_group = reader.text()
        elif tag == _SUB_GROUP:
            row.sub_group = reader.text()
        elif tag == _SHAPE:
            row.shape = reader.text()
        elif tag == _STATUS:
            row.status = reader.number()
        elif tag == _NODE:
            row.node = reader.text()
        elif tag == _GPU_GROUPS:
            row.gpu_groups.append(reader.text())
        elif tag == _POD_CREATION:
            row.has_creation, row.creation = True, reader.moment()
        else:
            reader.skip(tag)
            has_more = True
    if has_more:
        row.more = reader.between(start, reader.at)
    reader.exit(outer)
    return row


def _pod_group(reader: WireReader) -> PodGroupRow:
    row, has_more = PodGroupRow(), False
    outer = reader.enter()
    start = reader.at
    while tag := reader.tag():
        if tag == _GROUP_UID:
            row.uid = reader.text()
        elif tag == _GROUP_NAME:
            row.name = reader.text()
        elif tag == _NAMESPACE:
            row.namespace = reader.text()
        elif tag == _QUEUE:
            row.queue = reader.text()
        elif tag == _PRIORITY:
            row.priority = reader.number()
        elif tag == _PREEMPTIBILITY:
            row.preemptibility = reader.number()
        elif tag == _MIN_MEMBER:
            row.min_member = reader.number()
        elif tag == _GROUP_CREATION:
            row.has_creation, row.creation = True, reader.moment()
        elif tag == _LAST_START:
            row.has_last_start, row.last_start = True, reader.moment()
        else:
            reader.skip(tag)
            has_more = True
    if has_more:
        row.more = reader.between(start, reader.at)
    reader.exit(outer)
    return row
