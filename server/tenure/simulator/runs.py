"""One run: its inputs, what names them, and what comes out."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tenure.simulator.baselines import Baseline, BaselineDecider
from tenure.simulator.decider import Decider, SolverDecider
from tenure.simulator.history import History, HistoryDecider
from tenure.simulator.jobs import Job, Trace, mode_text
from tenure.simulator.journal import Journal
from tenure.simulator.metrics import build_metrics
from tenure.simulator.protections import MinRuntimes, NoticesOfRun, Violation, find_violations
from tenure.simulator.results import Results
from tenure.simulator.settings import RunSettings
from tenure.simulator.simulation import Progress, Simulation
from tenure.solver.actions.time_limit import TIME_LIMIT
from tenure.solver.plugin_api.profile import Profile, profile_text
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN
from tenure.terms.preemptibility import Preemptibility
from tenure.v1.snapshot_pb2 import ClusterSnapshot

MAX_BAD_LINES: Final = 100
"""Bad lines that a file or a page names."""
_DIGITS: Final = 16


@dataclass(frozen=True)
class RunInput:
    """Everything that a run depends on."""

    name: str
    """For people."""
    trace: Trace
    cluster: ClusterSnapshot
    settings: RunSettings
    policy: Profile | Baseline | History
    until: int | None = None
    """Nanoseconds since the Unix epoch at which the run is cut."""

    @property
    def identity(self) -> str:
        """Digest of the inputs, without the time at which it is cut."""
        policy = profile_text(self.policy) if isinstance(self.policy, Profile) else str(self.policy)
        jobs = [
            [mode_text(each) if isinstance(each, Preemptibility) else each for each in job]
            for job in self.trace.jobs
        ]
        parts = (json.dumps(jobs), json.dumps(asdict(self.settings), sort_keys=True), policy)
        digest = sha256(self.cluster.SerializeToString(deterministic=True))
        for part in parts:
            digest.update(sha256(part.encode()).digest())
        return digest.hexdigest()[:_DIGITS]

    @property
    def policy_name(self) -> str:
        """`solver`, `recorded`, or the name of the baseline."""
        if isinstance(self.policy, Profile):
            return "solver"
        return "recorded" if isinstance(self.policy, History) else str(self.policy)


@dataclass(frozen=True)
class Run:
    """A run that was played."""

    input: RunInput
    results: Results
    violations: Sequence[Violation]
    metrics: dict[str, Any]
    restored: int = 0
    """Cycles that came from the checkpoint."""

    def to_json(self) -> dict[str, Any]:
        """The run for a file: inputs by name and digest, and metrics."""
        trace, results = self.input.trace, self.results
        return {
            "name": self.input.name,
            "policy": self.input.policy_name,
            "input_digest": self.input.identity,
            "settings": self.input.settings.describe(),
            "nodes": len(self.input.cluster.nodes),
            "gpus": sum(node.allocatable.gpu_milli for node in self.input.cluster.nodes) / 1000,
            "queues": len(results.queue_names),
            "notes": list(trace.notes),
            "bad_lines": {
                "count": len(trace.bad_lines),
                "first": [bad.to_json() for bad in trace.bad_lines[:MAX_BAD_LINES]],
            },
            "stopped": results.stopped,
            "violations": [
                {"victim": found.eviction.victim, "time": found.eviction.time, "rule": found.rule}
                for found in self.violations
            ],
            "metrics": self.metrics,
        }


def by_policy(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs by the name of their policy, in order: one of each seed."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.input.name, []).append(run)
    return found


def play(
    run: RunInput,
    registry: Registry = BUILT_IN,
    checkpoint: Path | None = None,
    progress: Progress = lambda now, ended, cycles: None,
) -> Run:
    """Play a run. With a folder for checkpoints, it goes on where an equal run stopped.

    Raises CheckpointError. What is decided until an exception, also KeyboardInterrupt, is kept in the
    checkpoint.
    """
    decider = _decider(run, registry)
    if checkpoint is None:
        return _played(run, decider, progress)
    journal = Journal(checkpoint / f"{run.identity}.run", run.identity, decider)
    try:
        return _played(run, journal, progress)
    finally:
        journal.close()


def _played(run: RunInput, decider: Decider, progress: Progress) -> Run:
    settings = run.settings
    if isinstance(run.policy, Profile) and TIME_LIMIT.name in run.policy.actions:
        settings = replace(settings, every_cycle=True)  # it evicts also if nothing waits
    results = Simulation(run.cluster, run.trace.jobs, settings, decider, progress).run(run.until)
    restored = decider.restored if isinstance(decider, Journal) else 0
    violations = _violations(run, run.trace.jobs, results)
    return Run(run, results, violations, build_metrics(results, violations), restored)


def _decider(run: RunInput, registry: Registry) -> Decider:
    if isinstance(run.policy, Profile):
        return SolverDecider(run.policy, registry)
    if isinstance(run.policy, History):
        return HistoryDecider(run.policy)
    return BaselineDecider(run.policy)


def _violations(run: RunInput, jobs: Sequence[Job], results: Results) -> list[Violation]:
    if not isinstance(run.policy, Profile):
        return []
    plugins = [(plugin.name, plugin.arguments) for plugin in run.policy.plugins]
    settings, options = run.settings, run.policy.options
    notices = NoticesOfRun(
        given=results.notices,
        default=settings.notice,
        fallback=options.default_notice,
        longest=options.max_notice,
        are_saving=settings.checkpoint_on_notice,
    )
    minimums = MinRuntimes.of(plugins)
    return list(find_violations(jobs, run.cluster.queues, results.evictions, minimums, notices))
