"""Define the kinds of KAI, Volcano and JobSet on an API server.

The definitions of KAI and Volcano are those of their projects, if `../shared/crds` next to the checkout
contains them. Else, and for JobSet, objects of the kinds can have any fields.
"""

import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from tenure.kubernetes.api.api_errors import NotFound, TooManyRequests
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.environment.binaries import ROOT

REAL: Final = ROOT.parent / "shared/crds"
"""Folder of the projects' own definitions, in files named GROUP_PLURAL.yaml."""
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SERVED_SECONDS: Final = 30.0


class CustomKind(NamedTuple):
    """A kind of objects that the adapter reads."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool
    has_status: bool

    @property
    def api_version(self) -> str:
        """The API version in objects."""
        return f"{self.group}/{self.version}"

    @property
    def file(self) -> Path:
        """Path of the project's own definition, which can be missing."""
        return REAL / f"{self.group}_{self.plural}.yaml"


KAI_QUEUE: Final = CustomKind("scheduling.run.ai", "v2", "Queue", "queues", False, True)
KAI_POD_GROUP: Final = CustomKind("scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", True, True)
VOLCANO_QUEUE: Final = CustomKind("scheduling.volcano.sh", "v1beta1", "Queue", "queues", False, True)
VOLCANO_POD_GROUP: Final = CustomKind(
    "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", True, False
)
KAI_TOPOLOGY: Final = CustomKind("kai.scheduler", "v1alpha1", "Topology", "topologies", False, False)
JOB_SET: Final = CustomKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", True, True)
KINDS: Final = (KAI_QUEUE, KAI_POD_GROUP, VOLCANO_QUEUE, VOLCANO_POD_GROUP, JOB_SET)


def define_kinds(transport: Transport, kinds: Sequence[CustomKind] = KINDS) -> None:
    """Define kinds and wait until they are served. Raises ApiError."""
    for kind in kinds:
        transport.post(_DEFINITIONS, _body(kind))
    end = time.monotonic() + _SERVED_SECONDS
    for kind in kinds:
        while not _is_served(transport, kind):
            assert time.monotonic() < end, f"{kind.plural}.{kind.group} is not served"
            time.sleep(0.1)


@cache
def _body(kind: CustomKind) -> dict[str, Any]:
    if kind.file.exists():
        body: dict[str, Any] = yaml.safe_load(kind.file.read_text())
        return body
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}} if kind.has_status else {},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {"kind": kind.name, "plural": kind.plural, "singular": kind.name.lower()},
            "versions": [version],
        },
    }


def _is_served(transport: Transport, kind: CustomKind) -> bool:
    """Whether objects can be listed.

    The API server serves a kind a moment after it accepts the definition.
    """
    try:
        return "items" in json.loads(transport.get(f"/apis/{kind.api_version}/{kind.plural}"))
    except (NotFound, TooManyRequests):
        return False
