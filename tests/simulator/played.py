"""Small runs for tests, and deciders that watch or compare."""

from collections.abc import Callable, Sequence
from random import Random

from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.simulator.baselines import Baseline
from tenure.simulator.cluster import build_cluster, equal_nodes, equal_queues, gpu_milli_of
from tenure.simulator.decider import Decider, SolverDecider
from tenure.simulator.fitting import fit_jobs
from tenure.simulator.jobs import FROM_ZERO, Job, Trace
from tenure.simulator.runs import RunInput
from tenure.simulator.settings import RunSettings
from tenure.simulator.state_rows import EPOCH
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.terms.preemptibility import Preemptibility
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

from tests.checker.checker import verify
from tests.checker.rules.min_runtime import RuntimeGuards
from tests.simulator.run_checker import RunChecker


def job(name: str, submit: int, runtime: int, gpus: int = 1, queue: str = "a", **changes) -> Job:
    """A job with times in seconds."""
    return Job(name, queue, submit * SECOND, runtime * SECOND, gpus * 1000, **changes)


def run_input(
    jobs: Sequence[Job],
    nodes: tuple[int, int] = (1, 8),
    policy: Profile | Baseline | None = None,
    settings: RunSettings | None = None,
    queues: Sequence[str] = (),
) -> RunInput:
    """A run on equal nodes and queues."""
    count, gpus = nodes
    rows = equal_nodes(count, gpus)
    trace = fit_jobs(Trace(jobs), rows)
    cluster = build_cluster(rows, equal_queues(queues or trace.queues, gpu_milli_of(rows)), trace.jobs)
    return RunInput("run", trace, cluster, settings or RunSettings(), policy or default_profile())


def with_minimum(minimum: str) -> Profile:
    """The default profile with a minimum runtime."""
    profile = default_profile()
    arguments = {"defaultReclaimMinRuntime": minimum, "defaultPreemptMinRuntime": minimum}
    plugins = [
        PluginConfig(each.name, arguments) if each.name == "minruntime" else each for each in profile.plugins
    ]
    return Profile(profile.actions, tuple(plugins), profile.options)


def random_jobs(seed: int, count: int = 45) -> list[Job]:
    """Jobs of all kinds: gangs, elastic ones, parts of a GPU, priorities, preemptibility, checkpoints."""
    draws = Random(seed)
    jobs = []
    for number in range(count):
        pods = draws.choice((1, 1, 1, 2, 3))
        jobs.append(
            Job(
                name=f"job-{number:03d}",
                queue=draws.choice("abc"),
                submit=draws.randrange(0, 5400) * SECOND,
                runtime=draws.randrange(0, 2400) * SECOND,
                gpu_milli=draws.choice((1000, 1000, 2000, 4000, 500 if pods == 1 else 1000)),
                pods=pods,
                min_member=draws.randint(1, pods),
                priority=draws.choice((50, 50, 75, 125)),
                preemptibility=draws.choice(
                    (
                        Preemptibility.PREEMPTIBLE,
                        Preemptibility.PREEMPTIBLE,
                        Preemptibility.PREEMPTIBLE,
                        Preemptibility.SEMI_PREEMPTIBLE,
                        Preemptibility.NON_PREEMPTIBLE,
                    )
                ),
                expected_runtime=draws.choice((0, 0, 600)) * SECOND,
                checkpoint_interval=draws.choice((None, FROM_ZERO, 0, 300 * SECOND)),
            )
        )
    return sorted(jobs, key=lambda each: each.submit)


def noticed_jobs(seed: int, count: int = 45) -> list[Job]:
    """Random jobs, some of which want notice, and save their work then."""
    draws = Random(f"{seed}/notices")
    notices = (None, 0, *[seconds * SECOND for seconds in (20, 60, 60, 120, 600)])
    return [
        each._replace(notice=draws.choice(notices), checkpoint_on_notice=draws.choice((None, False, True)))
        for each in random_jobs(seed, count)
    ]


class CheckedDecider:
    """Checks every cycle: each response by the rules, and the state by what must hold over a whole run."""

    def __init__(
        self, decider: Decider, guards: RuntimeGuards | None = None, longest_notice: int = 0
    ) -> None:
        self._decider, self._guards = decider, guards
        self.checker = RunChecker(longest_notice)
        self.problems: list[str] = []
        self.responses: list[DecideResponse] = []

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        state = snapshot()
        response = self._decider.decide(delta, snapshot)
        self.responses.append(response)
        self.problems += self.checker.check(state, response)
        if response.outcomes:
            self.problems += verify(state, response, self._guards)
        return response


class ServiceDecider:
    """Decides by the gRPC service, on a state that is pushed once and changed by deltas."""

    def __init__(self, client: Client) -> None:
        self._client, self._is_pushed = client, False

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        if self._is_pushed:
            return self._client.apply_and_decide(delta)[1]
        self._is_pushed = True
        return self._client.decide_state(self._client.put_snapshot(EPOCH, snapshot()))


class WholeDecider:
    """Decides on the whole snapshot in every cycle, and keeps nothing."""

    def __init__(self, profile: Profile) -> None:
        self._engine = Engine(profile)

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        return self._engine.decide(DecideRequest(snapshot=snapshot())).parse()


class ComparingDecider:
    """Asks several deciders, and notes every cycle in which one differs from the first."""

    def __init__(self, *deciders: Decider) -> None:
        self._deciders = deciders
        self.cycles = 0
        self.differences: list[tuple[int, int]] = []
        """Version, and number of the decider."""

    def decide(self, delta: StateDelta, snapshot: Callable[[], ClusterSnapshot]) -> DecideResponse:
        first, *others = [each.decide(delta, snapshot) for each in self._deciders]
        self.cycles += 1
        for number, other in enumerate(others, start=1):
            counted = bool(other.outcomes) == bool(first.outcomes)
            if _decisions(other, counted) != _decisions(first, counted):
                self.differences.append((delta.version, number))
        return first


def _decisions(response: DecideResponse, counted: bool) -> DecideResponse:
    """What a caller carries out or stores, and how much work that was."""
    kept = DecideResponse(
        header=response.header,
        groups=response.groups,
        queues=response.queues,
        counters=response.counters if counted else None,
        in_flight_group_statuses=response.in_flight_group_statuses,
    )
    if response.HasField("next_wake_time"):
        kept.next_wake_time.CopyFrom(response.next_wake_time)
    return kept


def solver(profile: Profile | None = None) -> SolverDecider:
    """The solver on a warm state."""
    return SolverDecider(profile or default_profile())
