"""A confused or hostile server cannot make the Slurm adapter stop, cancel or kill what is not its own.

The adapter applies a forged decision only to a job of the pod group that the decision names, and cancels or
signals a job only if that job itself, as it is at that moment, or its queue asks for it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tenure.integration.adapter_loop import AdapterLoop
from tenure.integration.timing import Clock
from tenure.slurm.adapter import HostClock, SlurmConnection
from tenure.slurm.settings import load_slurm_settings
from tenure.slurm.state_file import HostLock
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.report_pb2 import APPLY_STATUS_APPLIED, APPLY_STATUS_PRECONDITION_FAILED
from tenure.v1.snapshot_pb2 import FATE_DELETE, FATE_HOLD, FATE_REQUEUE, FATE_SUSPEND

from tests.attacks.tenants.forging_client import ForgingClient, evict, notify
from tests.server.servers import run_server_process
from tests.slurm.slurm_adapter import write_configuration
from tests.slurm.slurm_cluster import SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]
ASKS_FOR_IT: Final = "--comment=tenure: on-evict=delete"


class SwitchingClient(ForgingClient):
    """Calls `between` between the observation of the cluster and the forged decisions on it."""

    between: Callable[[], object] = staticmethod(lambda: None)

    def decide_state(self, *args: Any, **kwargs: Any) -> DecideResponse:
        if self.decisions:
            self.between()
        return super().decide_state(*args, **kwargs)


class Site(NamedTuple):
    """A cluster with two jobs that run: `own`, about which decisions are forged, and `other`."""

    cluster: SlurmCluster
    client: SwitchingClient
    own: int
    other: int

    def group(self, job: int) -> str:
        """Uid of the pod group of a job."""
        return f"{job}@{self.cluster.job(job)['submit_time']}"

    def pod(self, job: int) -> str:
        """Uid of the only pod of a job that was never requeued."""
        return f"{self.group(job)}#0/0"

    def node(self, job: int) -> str:
        """Node that a job runs on."""
        return str(self.cluster.job(job)["nodes"])

    def evict(self, named: int, fate: Any = FATE_REQUEUE, group: str | None = None) -> pb.Decision:
        """An eviction of `own` in the name of the pod group of a job."""
        name = self.group(named) if group is None else group
        return evict(self.pod(self.own), name, self.node(self.own), fate)

    def notify(self, named: int) -> pb.Decision:
        """A notice for `own` in the name of the pod group of a job."""
        return notify(self.pod(self.own), self.group(named), self.node(self.own))

    def forge(self, forged: pb.Decision) -> Any:
        """Let the server return a decision; returns what the adapter reported of it."""
        self.client.decisions.append(forged)
        self.cluster.submit("-N1", "--gres=gpu:1", body="true")
        self.cluster.wait(lambda: forged.id in self.client.results, "the decision is reported", 60)
        return self.client.results[forged.id]

    def state(self, job: int) -> tuple[str, int]:
        """State of a job, and how often it was requeued."""
        row = self.cluster.job(job)
        return row["job_state"], row["restart_cnt"]


@pytest.fixture
def open_site(cluster: SlurmCluster, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that starts an adapter in this process and submits `own` with these options."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as ends:

        def make(*options: str, queues: str = "") -> Site:
            client = ends.enter_context(running_adapter(folder / "tenure", queues))
            own, other = (cluster.submit("-N1", "--gres=gpu:1", *more) for more in (options, ()))
            for job in (own, other):
                cluster.wait_for(job, "RUNNING")
            return Site(cluster, client, own, other)

        yield make


@contextmanager
def running_adapter(folder: Path, queues: str) -> Iterator[SwitchingClient]:
    """The adapter, with a server of its own and a client that forges."""
    with run_server_process() as (_, address):
        file = write_configuration(folder, address)
        if queues:
            (folder / "queues.yaml").write_text(queues)
        settings = load_slurm_settings(file, {}).slurm
        lock = HostLock(settings.state_file.with_name("lock"))
        connection = SlurmConnection(settings.scope(), settings.queues(), settings.state_file, 0.2)
        with SwitchingClient(address) as client, closing(connection), closing(lock):
            loop = AdapterLoop(connection, client, lock, Clock(HostClock()), "attacked")
            thread = threading.Thread(target=loop.run)
            thread.start()
            try:
                yield client
            finally:
                loop.stop()
                thread.join(30)


REFUSED: Final[dict[str, tuple[tuple[str, ...], Callable[[Site], pb.Decision], str]]] = {
    "requeue in the name of another pod group": (
        (),
        lambda site: site.evict(site.other),
        "but the decision names",
    ),
    "requeue in the name of no pod group": ((), lambda site: site.evict(site.own, group=""), "names none"),
    "hold in the name of another pod group": (
        (),
        lambda site: site.evict(site.other, FATE_HOLD),
        "but the decision names",
    ),
    "cancel in the name of another pod group that asks for it": (
        (ASKS_FOR_IT,),
        lambda site: site.evict(site.other, FATE_DELETE),
        "but the decision names",
    ),
    "cancel a job that does not ask for it": (
        (),
        lambda site: site.evict(site.own, FATE_DELETE),
        "neither it nor its queue asks for that",
    ),
    "cancel a job that asks for something else": (
        ("--comment=tenure: on-evict=hold",),
        lambda site: site.evict(site.own, FATE_DELETE),
        "neither it nor its queue asks for that",
    ),
    "suspend": ((), lambda site: site.evict(site.own, FATE_SUSPEND), "is suspended keeps its GPUs"),
    "give notice in the name of another pod group": (
        (),
        lambda site: site.notify(site.other),
        "but the decision names",
    ),
}


@pytest.mark.parametrize("attack", REFUSED)
def test_forged_decision_is_refused_reported_and_logged(
    open_site: Any, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    options, forge, why = REFUSED[attack]
    site = open_site(*options)
    result = site.forge(forge(site))
    assert result.status == APPLY_STATUS_PRECONDITION_FAILED
    assert why in result.detail
    assert any(why in record.getMessage() for record in caplog.records)
    assert (site.state(site.own), site.state(site.other)) == (("RUNNING", 0), ("RUNNING", 0))


def test_job_that_withdrew_its_wish_after_the_observation_is_not_cancelled(open_site: Any) -> None:
    site = open_site(ASKS_FOR_IT)
    edit = ("scontrol", "update", f"JobId={site.own}", "Comment=tenure: on-evict=requeue")
    site.client.between = lambda: site.cluster.command(*edit, user="games")
    result = site.forge(site.evict(site.own, FATE_DELETE))
    assert result.status == APPLY_STATUS_PRECONDITION_FAILED
    assert site.state(site.own) == ("RUNNING", 0)


QUEUE: Final = """\
queues:
- {{name: default, {}, gpu_milli: {{quota: 32000, limit: -1, over_quota_weight: 1}},
   cpu_milli: {{quota: -1, limit: -1}}, memory_bytes: {{quota: -1, limit: -1}}}}
"""
ASKED: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "its own comment": ((ASKS_FOR_IT,), ""),
    "its queue": ((), QUEUE.format("on_evict: FATE_DELETE")),
    "its queue, at its time limit": ((), QUEUE.format("on_time_limit: FATE_DELETE, time_limit: 9000s")),
}


@pytest.mark.parametrize("asking", ASKED)
def test_job_is_cancelled_if_it_or_its_queue_asks_for_that(open_site: Any, asking: str) -> None:
    options, queues = ASKED[asking]
    site = open_site(*options, queues=queues)
    assert site.forge(site.evict(site.own, FATE_DELETE)).status == APPLY_STATUS_APPLIED
    assert site.state(site.own) == ("CANCELLED", 0)
    assert site.state(site.other) == ("RUNNING", 0)


def test_notice_does_not_kill_a_job_that_does_not_ask_for_a_signal(open_site: Any, folder: Path) -> None:
    said = folder / "said"
    said.touch(0o666)
    said.chmod(0o666)
    site = open_site(f"--error={said}", "--comment=tenure: notice=60s")
    assert site.forge(site.notify(site.own)).status == APPLY_STATUS_APPLIED
    site.cluster.wait(lambda: "will be requeued at" in said.read_text(), "it is told")
    assert site.state(site.own) == ("RUNNING", 0)
