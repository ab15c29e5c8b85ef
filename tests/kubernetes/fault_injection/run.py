"""One story on a site: adapters behind a proxy with faults, and the rest of the cluster."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from tenure.integration.journal_format import load_journal
from tenure.kubernetes.api.api_errors import ApiError, Conflict, NotFound
from tenure.kubernetes.api.transport import MERGE_PATCH
from tenure.kubernetes.journal_store import ConfigMapStore

from tests.child_processes import Program
from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN
from tests.kubernetes.environment.kubelet import Kubelet
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP
from tests.kubernetes.fault_injection.history import History, ObjectVersion
from tests.kubernetes.fault_injection.object_history import record_objects
from tests.kubernetes.fault_injection.proxy import Fault, Proxy
from tests.kubernetes.fault_injection.site import Site
from tests.kubernetes.fault_injection.story import WORKLOADS, Workload
from tests.small_snapshot import child_environment

_GRACE_SECONDS: Final = 0.2
_LOOK_SECONDS: Final = 0.1
_COUNT: Final = "eviction-count"
_WRITTEN: Final = ("last-eviction-timestamp", "requeue-not-before")
"""Other compared annotations; the last start time is not one of them.

A gang that starts in two parts has no last start time; the time of its pods is used instead.
"""


class StoryTimeout(AssertionError):
    """An expected condition did not become true in time."""


class Adapter:
    """`tenure adapter`, with its own endpoint of the proxy."""

    def __init__(self, actor: str, log: Path, arguments: Sequence[str], clock_offset: float) -> None:
        self.actor = actor
        """Its name in the history."""
        self._log, self._arguments = log, arguments
        self.clock_offset = clock_offset
        """Seconds by which the clock of its next process is ahead."""
        self.start()

    def start(self) -> None:
        """Start it or restart it."""
        command = (
            sys.executable,
            "-m",
            "tests.kubernetes.fault_injection.skewed_clock",
            str(self.clock_offset),
            "adapter",
        )
        self.program = Program(self._log, *command, *self._arguments, env=child_environment())

    def replace(self) -> None:
        """Kill it and start another process in its place."""
        self.program.kill()
        self.start()


class EndState(NamedTuple):
    """The end state of a pod group and its evictions. Nodes, uids and times differ between runs."""

    bound: int
    waiting: int
    evicted: int
    """Number of pods over the whole run."""
    counted: str
    """Value of the eviction count annotation."""
    annotated: tuple[str, ...]
    """Names of the other annotations that were written."""


class StoryRun:
    """Implements story.StoryDriver. `adapters` are in the order in which they were started."""

    def __init__(self, site: Site, faults: Sequence[Fault], patience: float) -> None:
        site.runs += 1
        self.site, self._patience = site, patience
        self.name = f"run{site.runs}"
        self.history = History()
        self.proxy = Proxy(site.plane.port, self.history, faults)
        self.adapters: list[Adapter] = []
        self._cluster = UserCluster(site.transport, self.name)
        self._groups = self._cluster.path(KAI_POD_GROUP)
        self._owned: dict[str, Workload] = {}
        self._stopped = threading.Event()

    @contextmanager
    def live_adapters(self) -> Iterator[None]:
        """Run a recorder, kubelets and controllers; delete all objects afterwards."""
        kubelet = Kubelet(self.site.transport, _GRACE_SECONDS, time.monotonic)
        threads = [threading.Thread(target=work) for work in (kubelet.run, self._own)]
        try:
            with record_objects(self.site.transport, self._cluster.pods_path, self._groups, self.history):
                for thread in threads:
                    thread.start()
                yield
        finally:
            self._stopped.set()
            kubelet.stop()
            for thread in threads:
                thread.join()
            self._cluster.clear(KAI_POD_GROUP)

    @contextmanager
    def adapter(self, number: int, lease: str, clock_offset: float) -> Iterator[Adapter]:
        """Start an adapter and kill it at the end."""
        actor, folder = f"{self.name}-adapter{number}", self.site.folder
        with self.proxy.door(actor, ADAPTER_TOKEN, folder) as config:
            arguments = (
                *("--kubeconfig", str(config), "--server", self.site.service.address),
                *("--cluster-id", self.name, "--namespace", self.name, "--lease-duration", lease),
            )
            made = Adapter(actor, folder / f"{actor}.log", arguments, clock_offset)
            try:
                yield made
            finally:
                made.program.kill()

    def program_of(self, actor: str) -> Program:
        """Return the process of an actor."""
        return next(one.program for one in self.adapters if one.actor == actor)

    def recreate_pod(self, name: str, uid: str) -> None:
        """Delete a pod; return after its controller has created another one with its name."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        self.site.transport.delete(f"{self._cluster.pods_path}/{name}", options)

        def is_anew() -> bool:
            return name in (pods := self._cluster.pods()) and pods[name]["metadata"]["uid"] != uid

        self.until(is_anew, f"pod {name} is made anew")

    def submit(self, workload: Workload) -> None:
        self._persist(
            lambda: self._cluster.workload(
                workload.name,
                pods=0,
                gpus=workload.gpus,
                priority=workload.priority,
                queue=workload.queue,
                annotations={"kai.scheduler/preemptibility": workload.preemptibility},
                minMember=workload.needs,
            )
        )
        self._owned[workload.name] = workload

    def withdraw(self, workload: Workload) -> None:
        del self._owned[workload.name]
        self._persist(lambda: self.site.transport.delete(f"{self._groups}/{workload.name}"))
        for name in workload.pod_names:
            path = f"{self._cluster.pods_path}/{name}"
            self._persist(lambda path=path: self.site.transport.delete(path))  # type: ignore[misc]

    def annotate(self, workload: Workload, annotations: dict[str, str]) -> None:
        path, body = f"{self._groups}/{workload.name}", {"metadata": {"annotations": annotations}}
        self._persist(lambda: self.site.transport.patch(path, body, MERGE_PATCH))

    def running(self, workload: Workload) -> int:
        return self._cluster.running(workload.name)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + self._patience
        while not _holds(holds):
            if time.monotonic() > end:
                logs = "\n".join(one.program.output for one in self.adapters)
                raise StoryTimeout(f"not within {self._patience:g} s: {what}\n{logs}")
            time.sleep(_LOOK_SECONDS)

    def end_state(self) -> dict[str, EndState]:
        """Return the end state by pod group. Raises ApiError."""
        evicted = {seen.uid: seen for seen in list(self.history.pods) if seen.was_evicted}
        there = [one for one in WORKLOADS if one.name in self._owned]
        return {one.name: self._end_of(one, evicted) for one in there}

    def is_settled(self) -> bool:
        """Whether nothing is in flight, by the adapter's stored state. Raises ApiError."""
        store = ConfigMapStore(self.site.transport, self.name, "tenure", lambda: False)
        return not load_journal(store).entries

    def _end_of(self, workload: Workload, evicted: dict[str, ObjectVersion]) -> EndState:
        notes, pods = self._cluster.annotations_of(workload.name), self._cluster.pods(workload.name)
        bound = self._cluster.bound(workload.name)
        mine = [one for one in evicted.values() if one.pod_group == workload.name]
        written = tuple(name for name in _WRITTEN if notes.get(name))
        return EndState(bound, len(pods) - bound, len(mine), notes.get(_COUNT, ""), written)

    def _own(self) -> None:
        """Create deleted pods again, as controllers do."""
        while not self._stopped.wait(_LOOK_SECONDS):
            with suppress(ApiError):
                there = self._cluster.pods()
                for workload in list(self._owned.values()):
                    for name in workload.pod_names:
                        if name not in there:
                            belongs = {"pod-group-name": workload.name}
                            self._cluster.pod(name, workload.gpus, annotations=belongs)

    def _persist(self, call: Callable[[], object]) -> None:
        """Retry a call while the API server does not respond, as users do."""

        def is_done() -> bool:
            with suppress(Conflict, NotFound):
                call()
            return True

        self.until(is_done, "the API server answers")


def _holds(holds: Callable[[], bool]) -> bool:
    """Evaluate a condition; it is false while the API server does not respond."""
    try:
        return holds()
    except ApiError:
        return False


@contextmanager
def open_story_run(
    site: Site,
    faults: Sequence[Fault] = (),
    *,
    patience: float = 120.0,
    lease: str = "3s",
    adapters: int = 1,
    clock_offset: float = 0.0,
) -> Iterator[StoryRun]:
    """Open a run with adapters that are started one after the other; faults are armed before."""
    run = StoryRun(site, faults, patience)
    for fault in faults:
        fault.arm(run)
    with ExitStack() as ends:
        ends.enter_context(run.live_adapters())
        for number in range(1, adapters + 1):
            run.adapters.append(ends.enter_context(run.adapter(number, lease, clock_offset)))
        yield run
