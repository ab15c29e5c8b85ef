"""Fixtures: servers that are shared by all proofs through gRPC."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.cluster import ClusterText
from tests.requirements.profiles import Servers

Decide = Callable[..., DecideResponse]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as ends:
        yield Servers(tmp_path_factory.mktemp("proofs"), ends)


@pytest.fixture
def decide(servers: Servers) -> Decide:
    """Decide a cluster on a server with a configuration file, and with these actions."""

    def call(cluster: ClusterText, configuration: str = "", *actions: str) -> DecideResponse:
        return servers.client(configuration).decide(cluster.snapshot, list(actions))

    return call
