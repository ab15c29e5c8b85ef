"""GPUs: requests of whole GPUs or shares, and the shared devices of a pod (semantics R1.5 to R1.7).

A server names a device that it opens for sharing NODE/gpu-0. A label value has no slash and at most 63
characters, so the label has NODE.gpu-0, with a digest in place of a long node name. On the same node it is
converted back, so that in-flight and observed devices are equal. Other names stay unchanged.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from hashlib import sha256
from typing import Final

from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.resource_amounts import GPU, MILLI, Amounts
from tenure.v1.resources_pb2 import GpuRequest

_LONGEST_NODE: Final = 40
UNKNOWN_DEVICE: Final = "unknown-"
"""Prefix of devices that labels do not name."""


def to_label(device: str, node: str) -> str:
    """Label value of a device of a node."""
    own = f"{node}/"
    return f"{_short(node)}.{device.removeprefix(own)}" if device.startswith(own) else device


def from_label(value: str, node: str) -> str:
    """Device of a node for a label value."""
    own = f"{_short(node)}."
    return f"{node}/{value.removeprefix(own)}" if value.startswith(own) else value


def _short(node: str) -> str:
    return node if len(node) <= _LONGEST_NODE else sha256(node.encode()).hexdigest()[:_LONGEST_NODE]


_MOST_DEVICES: Final = 10_000
_MOST_MEMORY_MIB: Final = 2**20 - 1
ANNOTATIONS: Final = (names.GPU_FRACTION, names.GPU_MEMORY, names.GPU_DEVICES)
"""Pod annotations with a GPU share."""


def gpu_request(requests: Amounts, annotations: Mapping[str, str], warnings: list[str]) -> GpuRequest | None:
    """GPU request of a pod; None: none. An unreadable annotation is a warning.

    A requested part of a GPU resource counts as a share of one GPU (R1.5).
    """
    share = _share(annotations, warnings)
    if share is not None:
        return share
    milli = requests.get(GPU, 0)
    if not milli:
        return None
    if milli < MILLI:
        return GpuRequest(devices=1, portion_milli=milli)
    return GpuRequest(devices=min(milli // MILLI, _MOST_DEVICES))


def shared_devices(request: GpuRequest | None) -> int:
    """Number of shared devices; 0: whole GPUs, or none."""
    return request.devices if request is not None and request.WhichOneof("share") else 0


def gpu_groups(labels: Mapping[str, str], uid: str, devices: int, warnings: list[str]) -> list[str]:
    """Names of the shared devices of a running pod.

    If labels name too few, the missing ones count as devices of their own, so that no idle capacity is
    assumed.
    """
    prefix = f"{names.GPU_GROUP}/"
    several = sorted({value for key, value in labels.items() if key.startswith(prefix) and value})
    groups = several or [*filter(None, [labels.get(names.GPU_GROUP)])]
    if len(groups) == devices:
        return groups
    warnings.append(f"its labels {names.GPU_GROUP} name {len(groups)} shared GPUs, but it uses {devices}")
    unknown = (f"{UNKNOWN_DEVICE}{uid}-{i}" for i in range(devices))
    return [*dict.fromkeys([*groups, *unknown])][:devices]


def _share(annotations: Mapping[str, str], warnings: list[str]) -> GpuRequest | None:
    devices = _whole(annotations, names.GPU_DEVICES, _MOST_DEVICES, warnings) or 1
    if names.GPU_FRACTION in annotations:
        portion = _portion(annotations[names.GPU_FRACTION])
        if portion is None:
            fraction = annotations[names.GPU_FRACTION]
            warnings.append(
                f"annotation {names.GPU_FRACTION}: {fraction!r} is not a number above 0, at most 1"
            )
        elif portion == MILLI:
            return GpuRequest(devices=devices)
        else:
            return GpuRequest(devices=devices, portion_milli=portion)
    memory = _whole(annotations, names.GPU_MEMORY, _MOST_MEMORY_MIB, warnings)
    return GpuRequest(devices=devices, memory_mib=memory) if memory else None


def _portion(text: str) -> int | None:
    """Thousandths of a device, rounded up; None: not a fraction."""
    try:
        portion = Decimal(text)
    except InvalidOperation:
        return None
    if not portion.is_finite() or not 0 < portion <= 1:
        return None
    return int((portion * MILLI).to_integral_value(ROUND_CEILING))


def _whole(annotations: Mapping[str, str], key: str, most: int, warnings: list[str]) -> int | None:
    text = annotations.get(key)
    if text is None:
        return None
    digits = text.isascii() and text.isdecimal() and len(text) < len(str(most)) + 1
    if digits and 1 <= int(text) <= most:
        return int(text)
    warnings.append(f"annotation {key}: {text[:32]!r} is not a number from 1 to {most}")
    return None
