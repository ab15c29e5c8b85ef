"""Names of shared GPUs, on the wire and as labels of pods.

A server calls a device that it opens for sharing NODE/gpu-0. A label holds no slash and at most 63
characters, so there it is NODE.gpu-0, with a digest in place of a long name. Read on the same node, it has
its first name again: what is in flight and what is seen are one device. Names that others wrote stay.
"""

from hashlib import sha256
from typing import Final

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
