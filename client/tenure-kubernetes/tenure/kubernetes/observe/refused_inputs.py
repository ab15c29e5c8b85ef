"""Annotations of KAI-Scheduler that say what a snapshot cannot express: pods with one wait, and say why.

Else a pod would be placed as if they were not there: a gang in the wrong domains, a pod without its share of
a GPU.
"""

import re
from typing import Final

from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.derived_pod_groups import Origin
from tenure.kubernetes.rows.row_table import readable

_OF_CONTAINERS: Final = re.compile(
    r"nvidia\.com/container\..+\.(gpu-memory\.(request|limit)|gpu-compute\.mode)"
)
"""Shares of GPUs for each container, and how their pods share a GPU."""
_HELP_WITH_SEGMENTS: Final = "write a pod group with a subgroup for each part"
_HELP_WITH_SHARES: Final = f"use {names.GPU_FRACTION} or {names.GPU_MEMORY}"


def refused_input(pod: ObjectMeta, origin: Origin | None) -> str:
    """Why a pod waits that has such an annotation, itself or on an owner; "": it has none.

    `origin` is that of its derived pod group; None: it names a pod group, which says all about places.
    """
    for key, text in pod.annotations.items():
        if text.strip() and (key == names.GPU_SHARING_MODE or _OF_CONTAINERS.fullmatch(key)):
            return readable(f"annotation {key} is not supported: {_HELP_WITH_SHARES}")
    if origin is None:
        return ""
    for place in (pod, *(owner.metadata for owner in origin.chain)):
        for key in names.SEGMENTS:
            if place.annotations.get(key, "").strip():
                return f"annotation {key} is not supported: {_HELP_WITH_SEGMENTS}"
    return _topology_of_a_part(origin)


def _topology_of_a_part(origin: Origin) -> str:
    """Why pods wait if only a part of their workload is to share a domain, such as each Job of a JobSet."""
    if origin.owner is None:
        return ""
    whole = {origin.owner.uid}
    stated = next((one.metadata.annotations for one in origin.chain if one.metadata.uid in whole), {})
    for one in origin.chain:
        above = one.metadata.owner()
        if above is None or above.uid not in whole:
            continue
        whole.add(one.metadata.uid)
        for key in (names.TOPOLOGY_REQUIRED, names.TOPOLOGY_PREFERRED):
            if (text := one.metadata.annotations.get(key, "").strip()) and text != stated.get(
                key, ""
            ).strip():
                return f"annotation {key} of a part of a workload is not supported: {_HELP_WITH_SEGMENTS}"
    return ""
