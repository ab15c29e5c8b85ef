"""The queues of a node pool as one tree, whatever they are made from."""

from tenure.client.kubernetes.objects.meta import ObjectMeta
from tenure.client.kubernetes.observe.config import PictureConfig
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.queues import ROOT, kai_queue_row, sound, volcano_queue_row
from tenure.client.kubernetes.observe.warnings import Warnings
from tenure.v1 import snapshot_pb2 as pb


def observed_queues(mirrors: Mirrors, config: PictureConfig, warnings: Warnings) -> dict[str, pb.Queue]:
    """All queues by name. Of two with one name that of KAI counts; one that has no way up is left out."""
    rows: dict[str, pb.Queue] = {}
    seen: list[tuple[ObjectMeta, list[str]]] = []
    for queue in mirrors.kai_queues.all():
        if config.has(queue.metadata.labels):
            doubts: list[str] = []
            rows[queue.metadata.name] = kai_queue_row(queue, doubts)
            seen.append((queue.metadata, doubts))
    of_volcano = mirrors.volcano_queues.all()
    has_root = any(one.metadata.name == ROOT for one in of_volcano)
    of_kai = frozenset(rows)
    for volcano_queue in of_volcano:
        doubts = []
        seen.append((volcano_queue.metadata, doubts))
        if volcano_queue.metadata.name in of_kai:
            doubts.append("there is a queue of KAI-Scheduler with the same name, which counts")
        else:
            rows[volcano_queue.metadata.name] = volcano_queue_row(volcano_queue, has_root, doubts)
    known = sound(list(rows.values()))
    for meta, doubts in seen:
        if meta.name not in known:
            doubts.append("its parent does not exist, or never leads to the top: it is left out")
        warnings.settle(meta.uid, f"Queue {meta.name}", doubts)
    return known
