"""The named checks: campaigns, comparisons and measurements that are too long for the test suite.

`python -m tests` lists them, `python -m tests NAME` runs one. A check is one entry here and a function that
returns its counts, or None if it only reports. The function's parameters are the options of the command.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple


class CannotRun(Exception):
    """A check or a build cannot run here; the message says why."""


class Counts(NamedTuple):
    """How many cases of a check passed and failed. Printed, this is the closing line of every check."""

    passed: int
    failed: int

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


class Check(NamedTuple):
    """One named check."""

    name: str
    purpose: str
    duration: str
    """Usual duration on two cores, without builds."""
    function: str
    """`module:function`, imported when the check runs."""
    needs: tuple[str, ...] = ()
    """Names of tools (`tests.tools.catalog`), which are built when they are missing."""
    in_ci: bool = False
    """Whether CI runs it on every change and requires that all of it passes."""

    def load(self) -> Callable[..., Counts | None]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Counts | None] = getattr(import_module(module), name)
        return function


CHECKS: Final = (
    Check(
        "conformance",
        "the reference scheduler's own cases, through the public contract",
        "5 s",
        "tests.conformance.command:main",
    ),
    Check(
        "conformance-large",
        "larger clusters with the reference scheduler's verdict, and the cause of every difference",
        "2 min",
        "tests.conformance.large.command:main",
    ),
    Check(
        "differential",
        "decisions with and without speedups, and with and without a diagnosis, on 10,000 random clusters",
        "3 min",
        "tests.properties.differential:main",
    ),
    Check(
        "judged-clusters",
        "decisions on 100,000 random clusters with random profiles and clocks, judged independently",
        "20 min",
        "tests.properties.judged_clusters:main",
    ),
    Check(
        "victims",
        "victims that decisions call necessary, on 10,000 random clusters, judged independently",
        "2 min",
        "tests.properties.victims.proven_victims:main",
    ),
    Check(
        "optimum",
        "how far sets of victims are from a proven optimum, on 1,000 random clusters (or --consolidation)",
        "2 min",
        "tests.properties.optimum.distance:main",
    ),
    Check(
        "sentences",
        "what explanations say of 10,000 random clusters, applied to them: a line for each kind of sentence",
        "4 h",
        "tests.properties.sentences.judged_sentences:main",
    ),
    Check(
        "placement-gangs",
        "how often as many GPUs start as places permit, on 230 random clusters in which gangs contend",
        "1 min",
        "tests.properties.places.command:main",
    ),
    Check(
        "replays",
        "replayed cycles are the cycles that decided, before each commit, on 1,000 random clusters",
        "1 min",
        "tests.properties.replayed_cycles:main",
    ),
    Check(
        "notices",
        "notices before evictions in 1,000 random sequences of cycles, judged independently",
        "4 min",
        "tests.properties.notices.judged_notices:main",
    ),
    Check(
        "reservations",
        "planned starts in 10,000 random sequences of cycles, judged independently",
        "6 min",
        "tests.properties.reservations.judged_reservations:main",
    ),
    Check(
        "relations",
        "pods that need, avoid or wait for each other in 20,000 random clusters, played on and judged",
        "25 min",
        "tests.properties.relations.played_clusters:main",
    ),
    Check(
        "levers",
        "20 edits of a tenant after the start, in 10,000 random clusters: what others are given without them",
        "50 min",
        "tests.properties.levers.judged_levers:main",
    ),
    Check(
        "complete",
        "starts of pods with relations in 5,000 small clusters, against an exhaustive search",
        "3 min",
        "tests.properties.relations.complete_searches:main",
    ),
    Check(
        "counters",
        "the exact work and outcome of every benchmark, against the golden file",
        "2 min",
        "tests.bench.counters:main",
    ),
    Check(
        "placement-exam",
        "the GPUs in use when 130 % of a production cluster are asked for, against the published results",
        "2 min",
        "tests.placement_exam.command:main",
    ),
    Check(
        "eviction-thrash",
        "how often pod groups evict each other in turn, in 300 simulations of four hours",
        "30 min",
        "tests.properties.thrash.simulation:main",
    ),
    Check(
        "full-size",
        "5,000 nodes and 50,000 pods in every form: the same response",
        "2 min",
        "tests.state.full_size:main",
    ),
    Check(
        "delta-sequences",
        "100,000 random sequences of valid and invalid deltas",
        "30 min",
        "tests.state.delta_sequences:main",
    ),
    Check(
        "kill-points",
        "kill the server 250 times under a client: no decision is lost or doubled",
        "2 min",
        "tests.state.failover.kill_points:main",
    ),
    Check(
        "drain-load",
        "stop servers under 10,000 calls: no decision is lost",
        "30 s",
        "tests.load.drain_load:main",
    ),
    Check(
        "several-servers",
        "kill one of three servers behind HAProxy under 200 clusters: no answer is wrong",
        "5 min",
        "tests.load.several_servers.command:main",
        needs=("haproxy", "compiled"),
    ),
    Check(
        "connection-flood",
        "health checks under 10,000 connections, calls and pings",
        "40 s",
        "tests.load.connection_flood:main",
    ),
    Check(
        "adversarial-snapshots",
        "valid snapshots that keep a search busy: a response within ten seconds",
        "20 s",
        "tests.load.adversarial_snapshots:main",
    ),
    Check(
        "deadlines",
        "100 calls with 100 ms for a problem of seconds: a response in time",
        "15 s",
        "tests.load.deadline_measurement:main",
    ),
    Check(
        "noisy-caller",
        "a quiet caller beside 40 threads, 64 streams and 1,000 health watches of others",
        "2 min",
        "tests.load.noisy_caller:main",
    ),
    Check(
        "health-latency",
        "health checks while cycles run",
        "15 s",
        "tests.load.health_measurement:main",
    ),
    Check(
        "attacks",
        "hostile tenants, callers and servers, against real servers, a real API server and a real Slurm",
        "4 min",
        "tests.attacks.command:main",
        needs=("kubeapi", "helm", "slurm"),
    ),
    Check(
        "console-pictures",
        "the pages of the console against the kept pictures of the documentation (--update: make them again)",
        "30 s",
        "tests.console.browser.pictures:main",
        needs=("browser",),
    ),
    Check(
        "console-speed",
        "a console with 1,000 nodes and 2,000 workloads: times in the browser, and what it costs the service",
        "8 min",
        "tests.console.browser.speed:main",
        needs=("browser",),
    ),
    Check(
        "linear-work",
        "the counted work for twice the elements of every repeated field: at most 2.2 times",
        "1 min",
        "tests.attacks.work.command:main",
        in_ci=True,
    ),
    Check(
        "fuzz",
        "100,000 mutated requests; those that end badly are stored in .cache/fuzz",
        "7 min",
        "tests.fuzz.command:main",
    ),
    Check(
        "hostile-objects",
        "100,000 random hostile objects of namespace users: the honest pod is bound every time",
        "10 min",
        "tests.attacks.tenants.hostile_objects_campaign:main",
    ),
    Check(
        "feasible-nodes",
        "the nodes of a pod in random clusters, against kube-scheduler's own filters and scores",
        "1 min",
        "tests.kubernetes.feasible_nodes.command:main",
        needs=("kube-filters",),
    ),
    Check(
        "device-claims",
        "two claims never get one device, in random runs of the allocator of devices",
        "4 min",
        "tests.kubernetes.devices.command:main",
    ),
    Check(
        "faults",
        "every fault around the adapter, on real API servers",
        "30 min",
        "tests.kubernetes.fault_injection.command:main",
        needs=("kubeapi",),
    ),
    Check(
        "slurm-faults",
        "the adapter of Slurm, slurmctld and slurmd die at each command, on real clusters",
        "20 min",
        "tests.slurm.faults.matrix:check_faults",
        ("slurm",),
    ),
    Check(
        "slurm-backfill",
        "the profile of the page of Slurm beside backfill, over five seeds in simulated time",
        "30 s",
        "tests.slurm.backfill:main",
    ),
    Check(
        "slurm-scale",
        "1,000 nodes and 10,000 jobs of Slurm from its output to decisions, cold and after a change",
        "1 min",
        "tests.slurm.scale:check_scale",
    ),
    Check(
        "random-faults",
        "10,000 faults in random sequences around the adapter, on real API servers",
        "2 h",
        "tests.kubernetes.fault_injection.random_command:main",
        needs=("kubeapi",),
    ),
    Check(
        "soak",
        "a server under changing load: its memory stays flat after the first ten minutes",
        "2 h",
        "tests.load.soak:main",
    ),
    Check(
        "adapter-scale",
        "the adapter on 1,000 nodes and 10,000 pods of a real API server",
        "5 min",
        "tests.kubernetes.scale.command:main",
        needs=("kubeapi",),
    ),
    Check(
        "interop",
        "clients in Go, by reflection and in Python against a server",
        "10 s",
        "tests.interop.command:main",
        needs=("buf", "go-client"),
        in_ci=True,
    ),
    Check(
        "telemetry-overhead",
        "the cost of telemetry for a cycle on 500 nodes",
        "2 min",
        "tests.telemetry.cost.overhead:main",
        needs=("compiled",),
    ),
    Check(
        "telemetry-faults",
        "the cost of a collector that is away, silent, slow or refusing",
        "1 min",
        "tests.telemetry.cost.collector_faults:main",
        needs=("compiled",),
    ),
    Check(
        "telemetry-diagram",
        "draw docs/trace.svg from a real run of API server, adapter and server",
        "15 s",
        "tests.telemetry.diagram.trace_diagram:main",
        needs=("kubeapi",),
    ),
    Check(
        "proto-check",
        "the committed message classes are generated from the protos",
        "5 s",
        "tests.contract.protos:generated",
        needs=("protoc",),
        in_ci=True,
    ),
    Check(
        "proto-lint",
        "style and format of the protos",
        "5 s",
        "tests.contract.protos:lint",
        needs=("buf",),
        in_ci=True,
    ),
    Check(
        "proto-breaking",
        "callers of the last release still work; without a release, those of the kept contract",
        "5 s",
        "tests.contract.protos:breaking",
        needs=("buf",),
        in_ci=True,
    ),
    Check(
        "versions",
        "this version and an earlier one (--base COMMIT) read each other's files and call each other",
        "30 s",
        "tests.compatibility.versions:main",
        in_ci=True,
    ),
    Check(
        "keep-files",
        "write the files and the contract of this version to tests/compatibility/kept, before it is released",
        "5 s",
        "tests.compatibility.versions:keep",
        needs=("buf",),
    ),
    Check(
        "locks",
        "the locks of dependencies in docker/locks are what pyproject.toml gives",
        "10 s",
        "tests.supply_chain.command:locks",
        needs=("release",),
        in_ci=True,
    ),
    Check(
        "audit",
        "known vulnerabilities of everything that is locked",
        "10 s",
        "tests.supply_chain.command:audit",
        needs=("release",),
    ),
    Check(
        "licenses",
        "licenses of all dependencies, and whether ours permits those of the image; --update writes the page",
        "2 s",
        "tests.supply_chain.licenses:main",
        needs=("release",),
        in_ci=True,
    ),
    Check(
        "release",
        "two builds of wheels and source distributions are equal and complete (--compiled: with the solver)",
        "1 min",
        "tests.supply_chain.release:main",
        needs=("release",),
        in_ci=True,
    ),
    Check(
        "workflows",
        "workflows, issue forms and the configuration of updates, by their linters",
        "5 s",
        "tests.supply_chain.command:workflows",
        needs=("release", "actionlint"),
        in_ci=True,
    ),
    Check(
        "image",
        "the image of make image: serves as its user on a read-only root, without shell and compiler",
        "10 s",
        "tests.packaging.image:main",
    ),
    Check(
        "compose",
        "Docker starts docker/compose.yaml with the image of make image, and every service does its part",
        "2 min",
        "tests.packaging.compose:main",
        needs=("collector", "promtool", "compose"),
    ),
    Check(
        "kubelet",
        "the pods of docker/manifests under a real kubelet, with the image of make image",
        "3 min",
        "tests.packaging.kubelet:main",
        needs=("kubeapi", "kwok", "kubelet", "containerd"),
    ),
    Check(
        "docs",
        "the documentation as a site: no broken link, anchor or orphan, and nothing from other hosts",
        "30 s",
        "tests.repository.site:main",
        needs=("release",),
        in_ci=True,
    ),
    Check(
        "rooms",
        "sizes of packages, folders and modules, for a reviewer; none of them fails",
        "5 s",
        "tests.repository.rooms:main",
    ),
    Check(
        "commits",
        "messages of new commits: a subject of at most 72 characters, no path of a machine",
        "1 s",
        "tests.repository.commit_messages:main",
    ),
    Check(
        "reference-pages",
        "the generated parts of docs/reference are what their sources give; --update writes them",
        "1 s",
        "tests.contract.pages.reference_pages:main",
    ),
    Check(
        "architecture-pictures",
        "the pictures of the architecture are what the code gives; --update draws them",
        "1 s",
        "tests.contract.pages.architecture_pictures:main",
    ),
    Check(
        "policy-pictures",
        "the pictures of docs/use/policies.md are what its studies give (names: only these; --update writes)",
        "1 h",
        "tests.simulator.policy_pictures:main",
    ),
    Check(
        "manifests",
        "docker/manifests is what the chart renders; --update writes it",
        "1 s",
        "tests.packaging.manifests:main",
        needs=("helm",),
    ),
)
"""All checks, in the order of the list."""
