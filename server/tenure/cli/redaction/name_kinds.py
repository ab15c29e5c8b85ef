"""Kinds of names: form of new names, and texts that are preserved.

A text is preserved if decisions read it (a MIG profile) or if it is public (a condition of Kubernetes).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tenure.codec.nodes import BOOLEANS, MIG_ENABLED
from tenure.server.installed import installed_registry
from tenure.solver.in_flight.in_flight_groups import FULFILL
from tenure.solver.model.resources import MIG_PREFIX, device_slot, is_gpu_class
from tenure.solver.model.workload_parts import DEFAULT_SUB_GROUP


def _any_of(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)))


_NOTHING: Final = re.compile(r"(?!)")
_MIG: Final = re.escape(MIG_PREFIX)
_PRESSURES: Final = ("disk", "memory", "pid")


@dataclass(frozen=True, slots=True, eq=False)
class NameKind:
    """One kind of name, independent of other kinds."""

    word: str
    """Prefix of new names: `node` in `node-07`."""
    unchanged: re.Pattern[str] = _NOTHING
    """Texts that are preserved."""
    stem: re.Pattern[str] = _NOTHING
    """Meaningful prefixes, which new names keep."""
    tail: Callable[[str], str] = lambda text: ""
    """Suffix of the new name of a text."""
    landmarks: tuple[str, ...] = ()
    """Texts of other origin that sort with these names."""
    any_case: bool = False
    """Whether names differing in case only are equal."""

    def same(self, text: str) -> str:
        """Canonical spelling of a name."""
        return text.lower() if self.any_case else text

    def stem_of(self, text: str) -> str:
        """Prefix of a name that its new name keeps."""
        found = self.stem.match(text)
        return found[0] if found else ""


CLUSTER: Final = NameKind("cluster")
POOL: Final = NameKind("pool")
NODE: Final = NameKind("node")
NODE_CLASS: Final = NameKind("node-class")
QUEUE: Final = NameKind("queue")
NAMESPACE: Final = NameKind("namespace")
POD_GROUP: Final = NameKind("pod-group")
POD_GROUP_NAME: Final = NameKind("workload")
SUB_GROUP: Final = NameKind("part", unchanged=_any_of(DEFAULT_SUB_GROUP), any_case=True)
POD: Final = NameKind("pod")
POD_NAME: Final = NameKind("pod-name")
SHAPE: Final = NameKind("shape")
TOPOLOGY: Final = NameKind("topology")
CLAIM: Final = NameKind("claim")
BUDGET: Final = NameKind("budget")
ZONE: Final = NameKind("zone")
DEVICE: Final = NameKind("device")
"""Shared devices. A device created by a decision is named after its node."""
DEVICE_CLASS: Final = NameKind("device-class", tail=lambda text: "-gpu" if is_gpu_class(text) else "")
RESOURCE: Final = NameKind(
    "resource",
    unchanged=re.compile(
        rf"ephemeral-storage|hugepages-\d+[KMGT]i|{_MIG}\d+(g(\.\d+gb(\.(me|gfx|all))*)?)?", re.ASCII
    ),
    stem=re.compile(rf"{_MIG}(\d+g\.)?|hugepages-", re.ASCII),
    landmarks=(device_slot(""),),
)
LABEL: Final = NameKind(
    "label",
    unchanged=_any_of(
        *(f"kubernetes.io/{name}" for name in ("arch", "hostname", "os")),
        *(f"topology.kubernetes.io/{name}" for name in ("region", "zone")),
        "node.kubernetes.io/instance-type",
        MIG_ENABLED,
    ),
)
VALUE: Final = NameKind("value")
"""Values of labels; each key has its own scope."""
TAINT: Final = NameKind(
    "taint",
    unchanged=_any_of(
        *(f"node.kubernetes.io/{name}-pressure" for name in _PRESSURES),
        *(f"node.kubernetes.io/{name}" for name in ("network-unavailable", "not-ready", "out-of-service")),
        *(f"node.kubernetes.io/{name}" for name in ("unreachable", "unschedulable")),
        "node-role.kubernetes.io/control-plane",
        "nvidia.com/gpu",
    ),
)
TAINT_VALUE: Final = NameKind("taint-value")
"""Values of taints; each key has its own scope."""
CONDITION: Final = NameKind(
    "condition",
    unchanged=_any_of(
        "NotReady", "Ready", "DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable"
    ),
)
ANNOTATION: Final = NameKind("annotation")
"""Invalid values; their new names are invalid too."""
BLOCKER: Final = NameKind("blocker")
GROUP: Final = NameKind("group")
"""IDs of decision groups: digests of names, which would confirm a guess."""
ACTION: Final = NameKind("action", unchanged=_any_of(*installed_registry().actions, FULFILL.name))

STANDARD_VALUES: Final[Mapping[str, re.Pattern[str]]] = {
    "kubernetes.io/arch": _any_of("amd64", "arm64", "ppc64le", "s390x"),
    "kubernetes.io/os": _any_of("linux", "windows"),
    MIG_ENABLED: _any_of(*BOOLEANS),
}
"""Preserved values, by label key."""
