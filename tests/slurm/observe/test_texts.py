"""Small languages of Slurm: host lists, generic resources, comments."""

import pytest
from tenure.slurm.observe.hostlist import MAX_HOSTS, HostListError, expand
from tenure.slurm.observe.options import read_options, set_options
from tenure.slurm.observe.requests import Capacity, NodeRequest, read_request
from tenure.slurm.observe.rows import JobRow
from tenure.slurm.observe.tres import Gpus, Refused, node_gpus, read_gpus, read_tres
from tenure.v1 import snapshot_pb2 as pb

JOB = JobRow(7, "PENDING", 5, node_count=1, max_nodes=1, memory_per_cpu=100, tres_req_str="cpu=2,mem=1")


def job(**fields: object) -> JobRow:
    return JobRow(**{**{name: getattr(JOB, name) for name in JOB.__struct_fields__}, **fields})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,12],login", ["n08", "n09", "n10", "n12", "login"]),
        ("gpu-[1-2].site", ["gpu-1.site", "gpu-2.site"]),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "n[a-b]", "n[1-2][3-4]", "a b", "n;rm", f"n[0-{MAX_HOSTS + 1}]"])
def test_other_host_lists_are_errors(text: str) -> None:
    with pytest.raises(HostListError):
        expand(text)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gres:gpu:2", Gpus(2)),
        ("gres:gpu:a100:2", Gpus(2, (("a100", 2),))),
        ("gres/gpu=2", Gpus(2)),
        ("gpu:a100:8(S:0-1)", Gpus(8, (("a100", 8),))),
        ("gpu:a100:2(IDX:0,3)", Gpus(2, (("a100", 2),))),
        ("gpu:a100:2,gpu:v100:1", Gpus(3, (("a100", 2), ("v100", 1)))),
        ("gres:gpu:2080ti:4", Gpus(4, (("2080ti", 4),))),
        ("gres:gpu:3090:2", Gpus(2, (("3090", 2),))),
        ("gpu:1g.5gb:7(S:0)", Gpus(7, (("1g.5gb", 7),))),
        ("gres:gpu", Gpus(1)),
    ],
)
def test_gpus(text: str, gpus: Gpus) -> None:
    assert read_gpus(text) == gpus


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        (
            "cpu=2,mem=500M,node=1,billing=2,gres/gpu=2",
            {"cpu": 2, "mem": 500, "node": 1, "billing": 2, "gres/gpu": 2},
        ),
        ("mem=1.50G,gres/gpu:a100=1", {"mem": 1_536, "gres/gpu:a100": 1}),
        ("mem=2000K", {"mem": 2}),
        ("", {}),
        ("cpu=N,x", {}),
    ],
)
def test_totals(text: str, amounts: dict[str, int]) -> None:
    assert read_tres(text) == amounts


def test_nodes_may_have_other_resources_and_jobs_may_not() -> None:
    assert node_gpus("gpu:a100:8,shard:a100:32,nic:2") == Gpus(8, (("a100", 8),))
    with pytest.raises(Refused, match="'shard:4' is not scheduled here"):
        read_gpus("shard:4")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, NodeRequest(1, 2, 200, Gpus())),
        ({"tres_per_job": "gres:gpu:3"}, NodeRequest(1, 2, 200, Gpus(3))),
        (
            {"node_count": 2, "max_nodes": 2, "tasks": 4, "tres_per_task": "gres:gpu:a100:1"},
            NodeRequest(2, 1, 100, Gpus(2, (("a100", 2),))),
        ),
        ({"features": "a&b"}, NodeRequest(1, 2, 200, Gpus(), (("a", "b"),))),
        ({"features": "a|b"}, NodeRequest(1, 2, 200, Gpus(), (("a",), ("b",)))),
        ({"features": "(a|b)&c"}, NodeRequest(1, 2, 200, Gpus(), (("a", "c"), ("b", "c")))),
        ({"features": "[a|b]"}, NodeRequest(1, 2, 200, Gpus(), (("b",),))),
        (
            {"node_count": 2, "max_nodes": 2, "tasks": 2, "features": "a*1&b*1"},
            NodeRequest(2, 1, 100, Gpus(), (), (("a", 1), ("b", 1))),
        ),
        ({"node_count": 2, "max_nodes": 4, "tasks": 2}, NodeRequest(2, 1, 100, Gpus())),
        ({"max_nodes": 0, "tres_per_job": "gres:gpu:12"}, NodeRequest(2, 2, 200, Gpus(6))),
        ({"max_nodes": 0, "tasks": 2, "minimum_cpus_per_node": 16}, NodeRequest(1, 16, 1_600, Gpus())),
        ({"tres_per_job": "gres:gpu:2", "cpus_per_tres": "gres:gpu:4"}, NodeRequest(1, 8, 800, Gpus(2))),
        (
            {"tres_per_job": "gres:gpu:2", "memory_per_tres": "gres:gpu:1024"},
            NodeRequest(1, 2, 2_048, Gpus(2)),
        ),
        (
            {"memory_per_cpu": None, "tres_req_str": "cpu=2,mem=500G,node=1"},
            NodeRequest(1, 2, 512_000, Gpus()),
        ),
    ],
)
def test_requests(fields: dict[str, object], expected: NodeRequest) -> None:
    capacity = Capacity([(64, 512_000, 8, 4)], {"a": 1, "b": 2, "c": 2})
    assert read_request(job(**fields), capacity) == expected


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"het_job_id": 7}, "submit one job"),
        ({"features": "(a"}, "lacks a )"),
        ({"features": "a&"}, "join features"),
        ({"tres_per_node": "gres:nic:1"}, "request gpu only"),
        ({"node_count": 4, "max_nodes": 2}, "use --nodes=4"),
    ],
)
def test_what_cannot_be_placed_is_refused_with_the_fix(fields: dict[str, object], text: str) -> None:
    with pytest.raises(Refused) as refused:
        read_request(job(**fields))
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("comment", "options"),
    [
        ("", {}),
        ("expected-runtime=2h", {}),
        ("tenure:expected-runtime=2h", {"expected-runtime": "2h"}),
        (
            "my run; Tenure: Min-Runtime=1h,eviction-cost=7 and more",
            {"min-runtime": "1h", "eviction-cost": "7"},
        ),
        ("tenure: hold=true", {"hold": "true"}),
    ],
)
def test_options(comment: str, options: dict[str, str]) -> None:
    assert read_options(comment) == (options, [])


@pytest.mark.parametrize(
    ("comment", "problem"), [("tenure: prio=9", "option 'prio'"), ("tenure: please", "NAME=VALUE")]
)
def test_wrong_options_are_named(comment: str, problem: str) -> None:
    options, problems = read_options(comment)
    assert options == {}
    assert problem in problems[0]


def test_options_are_fields_or_annotations_of_the_pod_group() -> None:
    row = pb.PodGroup()
    times = {"released": "2026-01-02T03:04:05Z", "last-checkpoint-time": "2026-01-02T03:04:05Z"}
    durations = {"notice": "30s", "restart-cost": "2m", "checkpoint-interval": "1h"}
    others = {"hold": "true", "on-evict": "delete", "eviction-cost": "7", "checkpoint-on-notice": "true"}
    assert set_options(row, {"min-runtime": "1h", **times, **durations, **others}) == []
    assert dict(row.annotations) == {"kai.scheduler/min-runtime": "1h"}
    assert (row.held_by, row.on_evict, row.eviction_cost) == (pb.HOLD_REASON_USER, pb.FATE_DELETE, 7)
    assert (row.notice.seconds, row.restart_cost.seconds, row.checkpoint_interval.seconds) == (30, 120, 3_600)
    assert row.release_time == row.last_checkpoint_time
    assert row.checkpoint_on_notice


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("notice", "soon"),
        ("released", "today"),
        ("eviction-cost", "-1"),
        ("on-evict", "suspend"),
        ("checkpoint-on-notice", "maybe"),
    ],
)
def test_invalid_value_is_named_and_changes_nothing(name: str, value: str) -> None:
    row = pb.PodGroup()
    (problem,) = set_options(row, {name: value})
    assert problem.startswith(f"option {name}={value}: ")
    assert row == pb.PodGroup()


def test_unclear_hold_holds() -> None:
    row = pb.PodGroup()
    assert set_options(row, {"hold": "yes"}) == ["option hold=yes: must be true or false; the job is held"]
    assert row.held_by == pb.HOLD_REASON_USER


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("time-limit", "use --time"),
        ("not-before", "use --begin"),
        ("depends-on", "use --dependency"),
        ("on-time-limit", "set on_time_limit of a queue in queuesFile"),
        ("max-running", "administrators set it in queuesFile"),
    ],
)
def test_rule_that_is_stated_elsewhere_is_named(name: str, fix: str) -> None:
    """R19."""
    options, problems = read_options(f"tenure: {name}=1, notice=5m")
    assert options == {"notice": "5m"}
    assert problems[0].startswith(f"unknown option {name!r}; ")
    assert fix in problems[0]
