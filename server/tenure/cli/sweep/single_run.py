"""One run of a sweep, as a function of plain data: in this process, in another one or on another machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tenure.process.version import package_version

if TYPE_CHECKING:
    from tenure.simulator.jobs import Trace
    from tenure.simulator.runs import RunInput
    from tenure.simulator.settings import RunSettings
    from tenure.simulator.simulation import Progress
    from tenure.simulator.traces.formats import TraceFormat
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

_DIGITS: Final = 16
_KEPT: Final = 4
"""Traces that a process keeps: the points of a study have the same ones, one for each seed."""
OPTIONS: Final = {
    "cyclePeriod": ("cycle_period", "--cycle-period"),
    "startDelay": ("start_delay", "--start-delay"),
    "terminationTime": ("termination_time", "--termination-time"),
    "checkpointInterval": ("checkpoint_interval", "--checkpoint-interval"),
    "notice": ("notice", "--notice"),
    "restartOverhead": ("restart_overhead", "--restart-overhead"),
    "nodeFailures": ("node_failure_interval", "--node-failures"),
    "nodeRepair": ("node_repair_time", "--node-repair"),
}
"""Durations that a study sets: the field of RunSettings, and the option of `tenure play`."""
SWITCHES: Final = {"checkpointOnNotice": "checkpoint_on_notice"}
"""What a study switches on or off: the field of RunSettings."""


@dataclass(frozen=True)
class SingleRun:
    """Everything that a run depends on, but the files, which are named in `files`."""

    point: int
    seed: int
    description: str
    """JSON: format, shard, nodes, until, resample, settings, quotas in GPUs, configuration."""
    files: str
    """Digest of the contents of the trace and the cluster."""
    version: str = package_version()

    @property
    def digest(self) -> str:
        """Names the result: equal runs have equal digests, whatever the number of the point."""
        parts = (str(self.seed), self.description, self.files, self.version)
        return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


Files = Mapping[str, tuple[str, bytes]]
"""`trace` and perhaps `cluster`: name and content."""


def digest_of(files: Files) -> str:
    """Digest of names and contents."""
    parts = [(key, name, sha256(content).hexdigest()) for key, (name, content) in sorted(files.items())]
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]


def execute(run: SingleRun, files: Files, progress: "Progress" = lambda now, ended, cycles: None) -> bytes:
    """Play a run; the same JSON for the same inputs. `progress` may raise to end it early."""
    if run.version != package_version():
        raise RuntimeError(f"the worker has tenure {package_version()}, the sweep {run.version}")
    from tenure.server.installed import installed_registry
    from tenure.simulator.runs import play

    played = play(build_input(run, files), installed_registry(), progress=progress)
    content: dict[str, Any] = {"seed": run.seed, "inputs": json.loads(run.description), **played.to_json()}
    return json.dumps(content, indent=1, sort_keys=True).encode()


def build_input(run: SingleRun, files: Files) -> "RunInput":
    """The input of a run. Raises TraceError, ConfigurationError, and typer.BadParameter for nodes."""
    from tenure.cli.play.inputs import read_duration
    from tenure.server.settings import load_settings
    from tenure.simulator.jobs import TraceError
    from tenure.simulator.runs import RunInput
    from tenure.simulator.settings import RunSettings
    from tenure.simulator.traces.formats import TraceFormat
    from tenure.v1.snapshot_pb2 import ClusterSnapshot

    described = json.loads(run.description)
    settings = RunSettings(seed=run.seed, **_read_settings(described["settings"]))
    until, block = (
        None if described[key] is None else read_duration(described[key], key)
        for key in ("until", "resample")
    )
    form = TraceFormat(described["format"]) if described["format"] else None
    trace, shared = _prepared(
        _Source(run.files, files, form, described["shard"], described["nodes"], block, settings)
    )
    with TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(json.dumps(described["config"]), encoding="utf-8")  # JSON is YAML
        profile = load_settings(config).profile
    cluster = ClusterSnapshot()
    cluster.CopyFrom(shared)
    queues = {queue.name: queue for queue in cluster.queues}
    for name, gpus in described["quotas"].items():
        if name not in queues:
            raise TraceError(f"vary.quota.{name}: the cluster has no such queue")
        queues[name].gpu_milli.quota = round(gpus * 1000)
    end = None if until is None else trace.jobs[0].submit + until
    return RunInput(f"seed {run.seed}", trace, cluster, settings, profile, end)


@dataclass(frozen=True)
class _Source:
    """What trace and cluster of a run depend on: the same for all points of a study with one seed."""

    digest: str
    """Of the files."""
    files: Files = field(compare=False)
    form: "TraceFormat | None"
    shard: str | None
    nodes: str | None
    block: int | None
    settings: "RunSettings"
    """With the seed."""


@lru_cache(maxsize=_KEPT)
def _prepared(source: _Source) -> "tuple[Trace, ClusterSnapshot]":
    """The trace with jobs that fit, and the cluster, which must not be changed."""
    from tenure.cli.play.inputs import fit_cluster, read_recorded
    from tenure.simulator.jobs import TraceError
    from tenure.simulator.traces.formats import is_records, read_trace
    from tenure.simulator.traces.resample import resample

    seed, recorded = source.settings.seed, None
    with TemporaryDirectory() as folder:
        paths = {}
        for key, (name, content) in source.files.items():
            paths[key] = Path(folder, key, name)
            paths[key].parent.mkdir()
            paths[key].write_bytes(content)
        if is_records(paths["trace"]):
            if source.block is not None or source.form is not None:
                raise TraceError("resample and format cannot be used with records of decisions")
            (sample,) = read_recorded(paths["trace"], source.settings, [seed], source.shard, "shard")
            trace, recorded = sample.trace, sample.recorded
        else:
            if source.shard is not None:
                raise TraceError(f"shard: {paths['trace'].name} is no file of records")
            _, trace = read_trace(paths["trace"], source.form, seed)
            trace = trace if source.block is None else resample(trace, source.block, seed)
        cluster = str(paths["cluster"]) if "cluster" in paths else None
        return fit_cluster(trace, source.nodes, cluster, recorded)


def _read_settings(described: Mapping[str, str | bool]) -> dict[str, Any]:
    """Fields of RunSettings by the settings of a study, whose names are known."""
    from tenure.cli.play.inputs import read_duration
    from tenure.simulator.jobs import TraceError

    fields: dict[str, Any] = {}
    for key, value in described.items():
        if key in SWITCHES and isinstance(value, bool):
            fields[SWITCHES[key]] = value
        elif key in OPTIONS and isinstance(value, str):
            name, option = OPTIONS[key]
            fields[name] = read_duration(value, option)
        else:
            kind = "true or false" if key in SWITCHES else "a duration"
            raise TraceError(f"settings.{key}: must be {kind}")
    return fields
