"""GPUs: how a pod asks for whole ones or a share, and which ones it shares (semantics R1.5 to R1.7).

Names of shared GPUs, on the wire and as labels of pods.

A server calls a device that it opens for sharing NODE/gpu-0. A label holds no slash and at most 63
characters, so there it is NODE.gpu-0, with a digest in place of a long name. Read on the same node, it has
its first name again: what is in flight and what is seen are one device. Names that others wrote stay.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from hashlib import sha256
from typing import Final

from tenure.kubernetes.observe import names
from tenure.kubernetes.observe.resource_amounts import GPU, MILLI, Amounts
from tenure.v1.resources_pb2 import GpuRequest

_LONGEST_NODE: Final = 40


def to_label(device: str, node: str) -> str:
    """The value of a label for a device of a node."""
    own = f"{node}/"
    return f"{_short(node)}.{device.removeprefix(own)}" if device.startswith(own) else device


def from_label(value: str, node: str) -> str:
    """The device of a node that the value of a label means."""
    own = f"{_short(node)}."
    return f"{node}/{value.removeprefix(own)}" if value.startswith(own) else value


def _short(node: str) -> str:
    return node if len(node) <= _LONGEST_NODE else sha256(node.encode()).hexdigest()[:_LONGEST_NODE]


_MOST_DEVICES: Final = 10_000
_MOST_MEMORY_MIB: Final = 2**20 - 1
ANNOTATIONS: Final = (names.GPU_FRACTION, names.GPU_MEMORY, names.GPU_DEVICES)
"""Annotations of a pod that say what share of GPUs it wants."""


def gpu_request(requests: Amounts, annotations: Mapping[str, str], warnings: list[str]) -> GpuRequest | None:
    """The GPUs that a pod wants; None: none. An annotation that cannot be read is a doubt.

    A part of a GPU that is asked for as a resource counts as a share of one (R1.5).
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
    """How many devices a request shares; 0 when it wants whole ones, or none."""
    return request.devices if request is not None and request.WhichOneof("share") else 0


def gpu_groups(labels: Mapping[str, str], uid: str, devices: int, warnings: list[str]) -> list[str]:
    """The devices a running pod shares, by their names.

    Where labels do not tell all of them, those that are missing are taken for devices of its own, so that no
    room is seen that may not be there.
    """
    prefix = f"{names.GPU_GROUP}/"
    several = sorted({value for key, value in labels.items() if key.startswith(prefix) and value})
    groups = several or [*filter(None, [labels.get(names.GPU_GROUP)])]
    if len(groups) == devices:
        return groups
    warnings.append(f"its labels {names.GPU_GROUP} name {len(groups)} shared GPUs, but it uses {devices}")
    return [*groups, *(f"unknown-{uid}-{i}" for i in range(devices))][:devices]


def _share(annotations: Mapping[str, str], warnings: list[str]) -> GpuRequest | None:
    devices = _whole(annotations, names.GPU_DEVICES, _MOST_DEVICES, warnings) or 1
    if names.GPU_FRACTION in annotations:
        portion = _portion(annotations[names.GPU_FRACTION])
        if portion is None:
            said = annotations[names.GPU_FRACTION]
            warnings.append(f"annotation {names.GPU_FRACTION}: {said!r} is not a number above 0, at most 1")
        elif portion == MILLI:
            return GpuRequest(devices=devices)
        else:
            return GpuRequest(devices=devices, portion_milli=portion)
    memory = _whole(annotations, names.GPU_MEMORY, _MOST_MEMORY_MIB, warnings)
    return GpuRequest(devices=devices, memory_mib=memory) if memory else None


def _portion(text: str) -> int | None:
    """Thousandths of a device, rounded up; None when it is no fraction."""
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
