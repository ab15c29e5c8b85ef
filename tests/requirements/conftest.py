"""Fixtures: servers that all proofs through gRPC share, and the command for those through the CLI."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson, Parse
from tenure.v1.decide_pb2 import DecideResponse

from tests.cli.command import Tenure, in_process
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


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tenure:
    """Run the command `tenure` in an empty folder, in this process."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


DecideFile = Callable[..., DecideResponse]


@pytest.fixture
def decide_file(tenure: Tenure, tmp_path: Path) -> DecideFile:
    """Decide a snapshot file with `tenure decide`, and with a configuration file if there is one."""

    def call(cluster: ClusterText | str, configuration: str = "") -> DecideResponse:
        text = cluster if isinstance(cluster, str) else MessageToJson(cluster.snapshot)
        (tmp_path / "cluster.yaml").write_text(text)
        (tmp_path / "scheduler.yaml").write_text(configuration)
        options = ["--config", "scheduler.yaml"] if configuration else []
        ended = tenure("decide", "cluster.yaml", "--output", "json", *options)
        assert (ended.code, ended.err) == (0, "")
        return Parse(ended.out, DecideResponse())

    return call
