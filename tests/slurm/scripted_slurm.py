"""A scripted Slurm without a cluster: what squeue says of jobs that were released is a list of reasons.

The clock of the starter advances only while it sleeps, so waits cost no time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.integration.ports import ClusterError, LeaseLost
from tenure.slurm import release, starter
from tenure.slurm.observe.cluster import Reading, Scope
from tenure.slurm.observe.memory import JobMemories
from tenure.slurm.observe.options import is_held
from tenure.slurm.observe.refused_starts import RefusedStarts
from tenure.slurm.observe.rows import JobRow, NodeRow
from tenure.slurm.observe.source import SlurmSource
from tenure.slurm.programs import LiveJob, Slurm
from tenure.slurm.release import Releaser
from tenure.slurm.starter import JobStarter
from tenure.v1 import decision_pb2 as pb

NOW: Final = 1_800_000_000
HELD: Final = "JobHeldAdmin"
JOB: Final = JobRow(7, "PENDING", 5, partition="gpu", tres_req_str="cpu=1,node=1", node_count=1, tasks=1)
NODE: Final = NodeRow("n1", "mixed", 64, 1_000, partitions=["gpu"])


class ScriptedClock:
    """The module `time` of the starter."""

    def __init__(self) -> None:
        self.slept = 0.0

    def monotonic(self) -> float:
        """Seconds that were slept."""
        return self.slept

    def time(self) -> float:
        """Now, in seconds since 1970."""
        return NOW + self.slept

    def sleep(self, seconds: float) -> None:
        """Advance."""
        self.slept += seconds


class ScriptedSlurm(Slurm):
    """One pending job, 7. `reasons` is what squeue says of it after its release: the last one stays."""

    def __init__(self, reasons: Sequence[str], parameters: str = "") -> None:
        super().__init__()
        self.reasons, self.parameters = list(reasons), parameters
        self.live = LiveJob("7", "7", "PENDING", 0, NOW, ("", "", "", "", "gpu", "", ""), "", "", "", HELD)
        self.text = ""
        self.may_write = True
        self.has_gate = True
        self.commands: list[str] = []
        """Names of writes, in order."""
        self.after_place: Callable[[], object] = lambda: None
        """What happens between the listing of the jobs and the start."""
        self.before_start: Callable[[], object] = lambda: None
        """What happens after all checks of the adapter."""

    def read(self) -> Reading:
        """The job and its node."""
        return Reading([msgspec.structs.replace(JOB, comment=self.text, submit_time=NOW)], [NODE])

    def live_jobs(self, references: Sequence[str] = ()) -> dict[str, LiveJob]:
        """The job as it is now."""
        if self.live.priority and len(self.reasons) > 1:
            self.live = self.live._replace(reason=self.reasons.pop(0))
        elif self.live.priority:
            self.live = self.live._replace(reason=self.reasons[0])
        return {"7": self.live}

    def comments(self, references: Sequence[str]) -> dict[str, str]:
        """The comment of its owner."""
        return dict.fromkeys(references, self.text)

    def configuration(self) -> dict[str, str]:
        """Settings of the scheduler."""
        return {"SchedulerParameters": self.parameters, "BOOT_TIME": "1"}

    def place(self, nodes: Mapping[str, tuple[Sequence[str], bool]]) -> None:
        """Require nodes."""
        self._write_one("place")
        for names, _ in nodes.values():
            self.live = self.live._replace(required_nodes=",".join(names))
            self.after_place()

    def start(self, references: Iterable[str]) -> None:
        """Release the job."""
        if list(references):
            self._write_one("start")
            self.before_start()
            if is_held(self.text) or not self.has_gate:
                return  # the gate refuses it; without one, Slurm refuses it
            self.live = self.live._replace(priority=100, reason="None")

    def hold(self, jobs: Iterable[LiveJob]) -> None:
        """Hold the job, if it waits."""
        if list(jobs):
            self._write_one("hold")
            if self.live.state == "PENDING":
                self.live = self.live._replace(priority=0, reason=HELD)

    @staticmethod
    def fail(*_: object) -> NoReturn:
        """In place of a command: slurmctld is away."""
        raise ClusterError("slurmctld is away")

    def _write_one(self, name: str) -> None:
        if not self.may_write:
            raise LeaseLost
        self.commands.append(name)


class Site(NamedTuple):
    """The starter of the job, as the adapter builds it."""

    slurm: ScriptedSlurm
    source: SlurmSource
    refused: RefusedStarts
    starter: JobStarter
    clock: ScriptedClock

    @property
    def group(self) -> str:
        """Uid of the pod group of the job."""
        return f"7@{NOW}"

    def find_refusals(self, **kind: Any) -> Mapping[str, str]:
        """What the starter says of a group that evicts for the job."""
        place = pb.Decision(id="r", reserve=pb.Reserve(pod=f"{self.group}#0/0", node="n1"))
        act = pb.Decision(id="e", **(kind or {"evict": pb.Evict(pod="other", node="n1")}))
        return self.starter.find_refusals(
            [pb.DecisionGroup(id="g", beneficiary=self.group, decisions=[act, place])]
        )

    def bind(self) -> Mapping[str, Any]:
        """What the starter says of the binding of the job."""
        decision = pb.Decision(id="b", bind=pb.Bind(pod=f"{self.group}#0/0", node="n1"))
        return self.starter.prepare([[decision]])


def make_site(patch: pytest.MonkeyPatch, reasons: Sequence[str], parameters: str = "") -> Site:
    """The job, held and listed, with a starter that has released nothing."""
    clock, slurm = ScriptedClock(), ScriptedSlurm(reasons, parameters)
    for module in (starter, release):
        patch.setattr(module, "time", clock)
    memories, refused = JobMemories(), RefusedStarts()
    source = SlurmSource(Scope("test", ("gpu",)), (), slurm.read, memories, refused=refused)
    source.snapshot(Timestamp(seconds=NOW))
    before = slurm.live_jobs()
    releaser = Releaser(slurm, source, memories, lambda: None, lambda: before, lambda: 0.0)
    return Site(slurm, source, refused, JobStarter(slurm, source, memories, releaser, refused), clock)
