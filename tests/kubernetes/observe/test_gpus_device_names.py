"""Names of shared GPUs can be stored in a label and read back."""

import re

import pytest
from tenure.kubernetes.rows.gpus import from_label, to_label

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LONG = "gpu-node-0123456789.a-rather-long-zone-name.internal.example.com"


@pytest.mark.parametrize("node", ["n1", "10.0.0.1", LONG])
@pytest.mark.parametrize("device", ["{node}/gpu-0", "{node}/gpu-127"])
def test_device_name_survives_the_conversion_to_a_label_and_back(node: str, device: str) -> None:
    name = device.format(node=node)
    label = to_label(name, node)
    assert LABEL.fullmatch(label)
    assert from_label(label, node) == name


@pytest.mark.parametrize("name", ["1c2f3f0a-9a51-4b3e-8a6c-1f3f2a7f0c11", "unknown-uid-0", "n12.gpu-0"])
def test_foreign_names_are_unchanged(name: str) -> None:
    assert (to_label(name, "n1"), from_label(name, "n1")) == (name, name)


def test_devices_of_different_nodes_have_different_labels() -> None:
    nodes = ("n1", "n2", LONG, f"{LONG}.")
    assert len({to_label(f"{node}/gpu-0", node) for node in nodes}) == len(nodes)
