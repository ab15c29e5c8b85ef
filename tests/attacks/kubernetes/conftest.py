"""The control plane of the tests on a real API server, and a tenant of one namespace."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.attacks.kubernetes.tenant import create_tenant
from tests.e2e.kubernetes.conftest import (  # noqa: F401
    adapter,
    adapter_flags,
    as_adapter,
    audit,
    cluster,
    folder,
    installation,
    namespace_only,
    plane,
    server,
    transport,
)
from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment.control_plane import ControlPlane


@pytest.fixture
def tenant(plane: ControlPlane, namespace_only: UserCluster) -> Iterator[Transport]:  # noqa: F811
    """Transport with the credentials of a user who may edit the namespace of the test."""
    with closing(Transport(create_tenant(plane, namespace_only))) as opened:
        yield opened
