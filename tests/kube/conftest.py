"""A fake API server for whoever wants one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client.kubernetes.transport import Transport

from tests.kube.fake.server import FakeApiServer, serving


@pytest.fixture
def api(tmp_path: Path) -> Iterator[FakeApiServer]:
    with serving(tmp_path) as fake:
        yield fake


@pytest.fixture
def transport(api: FakeApiServer) -> Iterator[Transport]:
    """To the fake API server, which has the namespaces of the adapter and of its users."""
    with closing(Transport(api.kubeconfig(), timeout=10)) as opened:
        for namespace in ("team", "tenure-system"):
            opened.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        api.calls.clear()
        yield opened
