"""A control plane with the feature gates of pod groups; that of other stories has none."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.e2e.kubernetes.conftest import GRACE_SECONDS
from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment import binaries
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.control_plane import ControlPlane, run_control_plane
from tests.kubernetes.environment.kubelet import run_kubelet
from tests.kubernetes.environment.resource_definitions import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_TOPOLOGY,
    define_kinds,
)
from tests.kubernetes.native_objects import API_FLAGS, remove_native_groups

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native-plane")


@pytest.fixture(scope="session")
def audit(folder: Path) -> AuditLog:
    return AuditLog(folder)


@pytest.fixture(scope="session")
def plane(folder: Path, audit: AuditLog) -> Iterator[ControlPlane]:
    with run_control_plane(binaries.required(), folder, *audit.flags, *API_FLAGS) as running:
        yield running


@pytest.fixture(scope="session")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    with closing(Transport(plane.kubeconfig())) as opened:
        define_kinds(opened, (KAI_QUEUE, KAI_POD_GROUP, KAI_TOPOLOGY))
        with run_kubelet(opened, GRACE_SECONDS):
            yield opened


@pytest.fixture
def namespace_only(transport: Transport) -> Iterator[UserCluster]:
    """An empty namespace."""
    made = UserCluster(transport, f"native-{next(_NUMBERS)}")
    yield made
    made.clear(KAI_POD_GROUP)
    remove_native_groups(made)
