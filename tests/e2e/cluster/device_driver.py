"""A driver of devices and its claims in a story: it publishes devices, and prepares none."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.e2e.cluster.story import Story

_API: Final = "/apis/resource.k8s.io/v1"
_RULES: Final = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
TAINT_RULES: Final = (
    "--feature-gates=DRADeviceTaintRules=true",
    "--runtime-config=resource.k8s.io/v1beta2/devicetaintrules=true",
)
"""Flags of an API server with rules that taint devices, which are off by default in 1.36."""


def request(name: str, device_class: str, selector: str = "", **more: Any) -> dict[str, Any]:
    """Build a request; `selector` compares an attribute of the driver, as "model == 'A'"."""
    exactly = {"deviceClassName": device_class, **more}
    if selector:
        exactly["selectors"] = [{"cel": {"expression": f"device.attributes['{device_class}'].{selector}"}}]
    return {"name": name, "exactly": exactly}


class DeviceDriver:
    """Devices and claims of a story. The name of the driver is that of its class."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self.name = f"{story.namespace}.example.test"
        self._base = f"{_API}/namespaces/{story.namespace}"

    def publish(self, node: str, models: Mapping[str, str], *, generation: int = 1, **more: Any) -> None:
        """Publish the devices of a node, by name with their models, in place of earlier ones."""
        full = self._story.full(node)
        devices = [
            {"name": name, "attributes": {"model": {"string": model}}, **more}
            for name, model in models.items()
        ]
        pool = {"name": full, "generation": generation, "resourceSliceCount": 1}
        spec = {"driver": self.name, "nodeName": full, "pool": pool, "devices": devices}
        if generation > 1:
            self._story.transport.patch(f"{_API}/resourceslices/{full}", {"spec": spec}, MERGE_PATCH)
        else:
            self._story.make(f"{_API}/resourceslices", {"metadata": {"name": full}, "spec": spec})

    def taint(self, node: str, device: str, key: str) -> None:
        """Create a rule that taints a device of a node, with the name of the node."""
        full = self._story.full(node)
        selector = {"driver": self.name, "pool": full, "device": device}
        spec = {"deviceSelector": selector, "taint": {"key": key, "effect": "NoSchedule"}}
        self._story.make(_RULES, {"metadata": {"name": full}, "spec": spec})

    def remove_taint(self, node: str) -> None:
        """Delete that rule."""
        self._story.transport.delete(f"{_RULES}/{self._story.full(node)}")

    def retract(self, node: str) -> None:
        """Delete the devices of a node."""
        self._story.transport.delete(f"{_API}/resourceslices/{self._story.full(node)}")

    def device_class(self, name: str = "", selector: str = "", **more: Any) -> None:
        """Create a class of the devices of this driver; the usual one has its name. `more`: other fields."""
        terms = [f"device.driver == '{self.name}'"]
        if selector:
            terms.append(f"device.attributes['{self.name}'].{selector}")
        spec = {"selectors": [{"cel": {"expression": term}} for term in terms], **more}
        self._story.make(f"{_API}/deviceclasses", {"metadata": {"name": name or self.name}, "spec": spec})

    def claim(self, name: str, *requests: dict[str, Any], **more: Any) -> None:
        """Create a claim; `more` are other fields of `spec.devices`."""
        spec = {"devices": {"requests": list(requests), **more}}
        self._story.transport.post(f"{self._base}/resourceclaims", {"metadata": {"name": name}, "spec": spec})

    def template(self, name: str, *requests: dict[str, Any]) -> dict[str, str]:
        """Create a template, and return the entry of pods that use it."""
        spec = {"spec": {"devices": {"requests": list(requests)}}}
        body = {"metadata": {"name": name}, "spec": spec}
        self._story.transport.post(f"{self._base}/resourceclaimtemplates", body)
        return {"name": name, "resourceClaimTemplateName": name}

    def claims(self) -> list[dict[str, Any]]:
        """Read all claims of the story."""
        found: list[dict[str, Any]] = json.loads(self._story.transport.get(f"{self._base}/resourceclaims"))[
            "items"
        ]
        return found

    def read(self, name: str) -> dict[str, Any]:
        """Read a claim."""
        found: dict[str, Any] = json.loads(self._story.transport.get(f"{self._base}/resourceclaims/{name}"))
        return found

    def given(self) -> list[tuple[str, str]]:
        """Pool and name of all devices that claims of the story have."""
        allocations = (claim.get("status", {}).get("allocation", {}) for claim in self.claims())
        return [
            (one["pool"], one["device"])
            for allocation in allocations
            for one in allocation.get("devices", {}).get("results", [])
        ]
