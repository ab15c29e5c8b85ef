"""What the commands of pages need to run here: files, shorter inputs, and what is run elsewhere."""

import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import Final, NamedTuple

from tenure.client import Client, StateSession
from tenure.client.snapshot_file import read_snapshot

from tests.conformance.plain_cases import plain_cases
from tests.e2e.command import SAMPLE
from tests.e2e.generated_trace import write_trace
from tests.e2e.test_import_kai import complete_snapshot, write_archive
from tests.kubernetes.fake_api_server.server import run_fake_api_server
from tests.repository.pages import ROOT
from tests.repository.reader import Reader
from tests.server.records.recorded_cycles import draw_snapshots, inline_cycle, write_records

Prepare = Callable[[Reader], None]


class PlayedPage(NamedTuple):
    """How the commands of a page run."""

    prepare: tuple[Prepare, ...] = ()
    shorter: Mapping[str, str] = {}
    """Regular expressions of parts of commands, and what is entered instead."""
    elsewhere: Mapping[str, str] = {}
    """Beginnings of commands that are not run here, and why or by what they are run."""


_SMALLER: Final = {
    "days: 7": "days: 0.1",
    "days: 14": "days: 0.1",
    "days: 2": "days: 0.1",
    "seeds: [1, 2, 3, 4, 5]": "seeds: [1]",
    "until: 2d": "until: 4h",
    "resample: 1d": "resample: 1h",
}
"""So that a run takes seconds, not minutes."""


def smaller(text: str) -> str:
    """A file of a page about the simulator, with fewer and shorter runs."""
    return reduce(lambda done, change: done.replace(*change), _SMALLER.items(), text)


def sample(reader: Reader) -> None:
    """cluster.yaml and cluster.binpb: the sample."""
    (reader.folder / "cluster.yaml").write_text(SAMPLE.read_text())
    (reader.folder / "cluster.binpb").write_bytes(read_snapshot(str(SAMPLE)).SerializeToString())


def pushed_sample(reader: Reader) -> None:
    """A server to which the sample was pushed as the cluster ID."""
    reader.enter("tenure serve --no-records")
    reader.addresses["ADDRESS"] = address = reader.addresses["127.0.0.1:50051"]
    snapshot = read_snapshot(str(SAMPLE))
    snapshot.cluster_id = "ID"
    client = reader.started.enter_context(Client(address))
    reader.started.enter_context(StateSession(client)).push(snapshot)


def server(reader: Reader) -> None:
    """A server."""
    reader.enter("tenure serve --no-records")


def philly(reader: Reader) -> None:
    """philly.csv: jobs of two queues, one each two hours in October 2017."""
    begin = datetime(2017, 10, 9)
    lines = ["timestamp,duration,num_gpus,gpu_time,cluster"]
    for number in range(20 * 12):
        submitted, gpus = begin + timedelta(hours=2 * number), (1, 2, 8)[number % 3]
        lines.append(f"{submitted},{600 + number % 7 * 600},{gpus},0,{('a1', 'b2', '6214e9')[number % 3]}")
    (reader.folder / "philly.csv").write_text("\n".join(lines) + "\n")


def swf(reader: Reader) -> None:
    """jobs.swf: jobs of up to 8 processors."""
    jobs = [f"{i} {i * 60} 0 600 {1 + i % 8} 1 -1 {1 + i % 8} 900 -1 1 1 1 1 1 1 -1 -1" for i in range(1, 50)]
    (reader.folder / "jobs.swf").write_text("\n".join(["; UnixStartTime: 1000000", *jobs]) + "\n")


def jobs_csv(reader: Reader) -> None:
    """jobs.csv: jobs with kinds of GPUs."""
    rows = [
        f"{i},{i * 60},600,{1 + i % 8},{('', 'T4', 'V100')[i % 3] if i % 8 < 4 else ''}" for i in range(40)
    ]
    (reader.folder / "jobs.csv").write_text("\n".join(["job,submit,runtime,gpus,gpu_kind", *rows]) + "\n")


def itp(reader: Reader) -> None:
    """cluster01.csv and so on: a few jobs."""
    for name in ("01", "03", "05", "06", "08"):
        rows = [f"{name}-{i},{i * 600},{300 + i % 5 * 600},{2 ** (i % 5)}" for i in range(60)]
        text = "\n".join(["job_id,submission_time,duration,num_gpu", *rows]) + "\n"
        (reader.folder / f"cluster{name}.csv").write_text(text)


def records(reader: Reader) -> None:
    """records.sqlite: cycles of a cluster that changes."""
    write_records(reader.folder / "records.sqlite", [inline_cycle(each) for each in draw_snapshots(1, 6)])


def openb(reader: Reader) -> None:
    """A small trace with the names of the openb trace, as pages name it."""
    nodes, pods, _ = write_trace(reader.folder, nodes=6)
    nodes.rename(reader.folder / "openb_node_list_gpu_node.csv")
    for name in ("openb_pod_list_gpuspec33.csv", "openb_pod_list_default.csv"):
        (reader.folder / name).write_bytes(pods.read_bytes())


def kubernetes(reader: Reader) -> None:
    """An API server without objects, and a kubeconfig for it."""
    api = reader.started.enter_context(run_fake_api_server(reader.folder))
    (reader.folder / "kubeconfig").write_bytes(api.kubeconfig().read_bytes())


def history(reader: Reader) -> None:
    """The commits of this checkout."""
    git = reader.folder / ".git"
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, git], check=True)
    subprocess.run(["git", "config", "core.bare", "false"], cwd=reader.folder, check=True)


def cases(reader: Reader) -> None:
    """cases/: plain cases as a file of cases of the reference scheduler."""
    plain = [dict(case.data) for case in plain_cases()]
    content = {"format": "kai-cases", "format_version": 1, "cases": plain}
    (reader.folder / "cases").mkdir()
    (reader.folder / "cases" / "plain.json").write_text(json.dumps(content))


def kai(reader: Reader) -> None:
    """A scheduler that serves its snapshot."""
    archive = write_archive(reader.folder / "served.zip", json.dumps(complete_snapshot()))
    reader.addresses["SCHEDULER:PORT"] = reader.serve_file(reader.folder / archive)


def repository(reader: Reader) -> None:
    """A repository of git, and a release that was downloaded."""
    subprocess.run(["git", "init", "--quiet"], cwd=reader.folder, check=True)
    wheel = reader.folder / "tenure.whl"
    wheel.write_bytes(b"wheel")
    line = f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n"
    (reader.folder / "SHA256SUMS").write_text(line)


def configurations(reader: Reader) -> None:
    """Files that pages of the simulator name without showing them."""
    for name in ("now.yaml", "new.yaml", "a.yaml", "b.yaml", "gentle.yaml"):
        (reader.folder / name).write_text("actions: allocate\n")
    play = (ROOT / "docs/use/play.md").read_text()
    (load,) = re.findall(r"```yaml\n(seed: .*?)```", play, re.DOTALL)
    (reader.folder / "load.yaml").write_text(smaller(load))


def go_module(reader: Reader) -> None:
    """A module in Go that imports the package of the page."""
    page = (ROOT / "docs/integrate/go.md").read_text()
    (imported,) = re.findall(r'^import pb "(.*)"$', page, re.MULTILINE)
    (reader.folder / "go.mod").write_text("module example.com/reader\n\ngo 1.24\n")
    (reader.folder / "main.go").write_text(f'package main\n\nimport _ "{imported}"\n\nfunc main() {{}}\n')


_PIP: Final = {"pip install": "tests/packaging/test_pip_lines.py"}
_DRY: Final = {r"^make (?!demo|\.venv)": "make --dry-run "}
_COLLECTED: Final = {r"^(\.venv/bin/pytest .*)": r"\1 --collect-only", "pytest -k": "pytest tests/solver -k"}
_EXAMPLE_DAYS: Final = {"--first-day [0-9]+": "--first-day 1", "--days [0-9]+": "--days 1"}

PLAYED: Final = {
    "CONTRIBUTING.md": PlayedPage((repository,), {**_DRY, **_COLLECTED}),
    "docs/get-started/quickstart.md": PlayedPage(),
    "docs/integrate/compatibility.md": PlayedPage((history,), {"COMMIT": "HEAD"}),
    "docs/integrate/go.md": PlayedPage((go_module,), {"/path/to/tenure/": "./"}),
    "docs/internals/anti-thrash.md": PlayedPage((), {"thrash$": "thrash --cycles 20 --seeds 1"}),
    "docs/internals/releasing.md": PlayedPage(
        (repository,),
        {},
        {
            "make bench": "minutes; parsed with its options",
            "make image": "needs root and minutes",
            ".venv/bin/python -m tests image": "needs the image: tests/packaging/test_image.py",
            ".venv/bin/python -m tests compose": "needs the image: tests/packaging/compose.py",
            ".venv/bin/python -m tests kubelet": "needs the image: tests/packaging/kubelet.py",
            ".venv/bin/python -m tests audit": "needs advisories of the package index",
            ".venv/bin/python -m tests proto-breaking": "CI runs the check on every change: tests/checks.py",
            ".venv/bin/python -m tests versions": "tests/compatibility/test_stored_files.py",
            ".venv/bin/python -m tests manifests": "tests/packaging/test_chart.py",
            "gh attestation": "needs a release on the forge",
        },
    ),
    "docs/internals/search.md": PlayedPage(
        (openb, philly),
        {
            **_EXAMPLE_DAYS,
            "tests victims": "tests victims 50",
            "tests differential": "tests differential 50",
            "tests counters": "tests counters --only W1@S",
            "NODE_LIST": "openb_node_list_gpu_node.csv",
            "POD_LIST": "openb_pod_list_default.csv",
            "--running 7600 --pending 300": "--running 10 --pending 5",
        },
        {"python -m tests conformance": "cases beside the repository: tests/conformance has small ones"},
    ),
    "docs/internals/testing.md": PlayedPage(
        (),
        {**_DRY, **_COLLECTED, "--cases 500": "--cases 5"},
        {".venv/bin/python -m tests build": "builds of minutes: tests/tools/test_tools.py"},
    ),
    "docs/operate/kubernetes-adapter.md": PlayedPage(
        (kubernetes,),
        {"--dry-run$": "--dry-run --server 127.0.0.1:50051"},
        {
            **_PIP,
            "kubectl create namespace": "tests/e2e/kubernetes/installation",
            "kubectl": "tests/e2e/cluster/test_status.py",
            "tenure adapter --cluster-id prod --health-listen": "tests/e2e/kubernetes",
        },
    ),
    "docs/operate/sizing.md": PlayedPage(
        (),
        {"^(pytest -s .*)": r"\1 --collect-only"},
        {
            "python -m tests adapter-scale": "minutes: tests/e2e/kubernetes/test_scale.py",
            "python -m tests telemetry": "minutes, with the compiled package: tests/telemetry/cost",
        },
    ),
    "docs/operate/slurm-adapter.md": PlayedPage((), {" --seed 2.*": ""}),
    "docs/operate/troubleshooting.md": PlayedPage(
        (pushed_sample, sample),
        {"NAME": "nightly-eval"},
        {"kubectl describe": "tests/e2e/kubernetes"},
    ),
    "docs/use/console.md": PlayedPage(
        (pushed_sample,), {}, {**_PIP, "helm": "tests/packaging/test_chart.py"}
    ),
    "docs/use/import.md": PlayedPage(
        (kubernetes, kai, openb), {"--running 7800 --pending 352": "--running 10 --pending 5"}, _PIP
    ),
    "docs/use/outside-traces.md": PlayedPage((itp, philly)),
    "docs/use/play.md": PlayedPage((configurations, philly, swf, jobs_csv, openb, records), {}, _PIP),
    "docs/use/policies.md": PlayedPage((configurations, philly)),
    "docs/use/reservations.md": PlayedPage((philly, openb)),
    "docs/use/simulate.md": PlayedPage((configurations, sample)),
    "docs/use/sweep.md": PlayedPage(
        (configurations,),
        {},
        {
            **_PIP,
            "dask": "machines of the reader: tests/cli/test_sweep.py",
            "tenure sweep study.yaml --scheduler": "machines of the reader: tests/cli/test_sweep.py",
        },
    ),
    "docs/use/tune-placement.md": PlayedPage((records,)),
    "tests/conformance/README.md": PlayedPage(
        (cases,),
        {
            "conformance-large$": "conformance-large --cases DIR",
            "--shrink DIR": "--cases DIR --shrink smaller",
            "(tests conformance)(?!-)": r"\1 --cases DIR",
            "preempt_test.go#3": "'own/a free GPU is taken'",
            "DIR": "cases",
        },
    ),
    "tests/interop/README.md": PlayedPage((server,)),
}
"""Pages whose commands run in order, by one reader."""
MEASUREMENTS: Final = ("python -m tests deadlines", "python -m tests health-latency")
"""Checks that fail on a machine that is busy with something else."""
NEED_GO: Final = ("docs/integrate/go.md", "tests/interop/README.md")
