"""HAProxy with the configuration of the repository in front of servers on loopback."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tenure.client import Client

from tests.child_processes import Program, free_port
from tests.server.servers import run_server_process
from tests.tools.catalog import haproxy
from tests.tools.tool import ROOT

CONFIGURATION: Final = ROOT / "docker/haproxy/haproxy.cfg"
SERVER: Final = ROOT / "docker/haproxy/server.yaml"
QUIET: Final = ("--no-records", "--log-level", "error")
"""A server whose log is read by no one must not write much."""
_PLACES: Final = ("TENURE_SERVER_ONE", "TENURE_SERVER_TWO", "TENURE_SERVER_THREE")
SERVERS: Final = len(_PLACES)
_CHECKED_SECONDS: Final = 3.0
"""After this time HAProxy has checked its servers twice."""


class Server(NamedTuple):
    """One server, at its own address."""

    pid: int
    address: str

    def shards(self) -> set[tuple[str, str]]:
        """Cluster IDs and node pools of its states."""
        with Client(self.address) as client:
            return {(state.cluster_id, state.node_pool) for state in client.list_states()}

    def seconds(self) -> float:
        """Processor time so far."""
        return processor_seconds(self.pid)


class Balanced(NamedTuple):
    """Servers, and the balancer in front of them."""

    servers: Sequence[Server]
    balancer: Program
    address: str


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_balanced(folder: Path) -> Iterator[Balanced]:
    """Run three servers and HAProxy; kill them at the end."""
    with ExitStack() as stack:
        servers = []
        for _ in _PLACES:
            process, address = stack.enter_context(run_server_process(*QUIET, "--config", str(SERVER)))
            servers.append(Server(process.pid, address))
        address = f"127.0.0.1:{free_port()}"
        places = dict(zip(_PLACES, (server.address for server in servers), strict=True))
        environment = {**os.environ, **places, "TENURE_LISTEN": address}
        balancer = Program(folder / "haproxy.log", haproxy(), "-f", CONFIGURATION, env=environment)
        stack.callback(balancer.kill)
        time.sleep(_CHECKED_SECONDS)
        assert not balancer.has_ended, balancer.output
        yield Balanced(servers, balancer, address)
