"""Kinds of owners in the configuration file: every error names its field, and a row works as written."""

from pathlib import Path
from typing import Final

import pytest
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.settings import AdapterSettings, load_adapter_settings
from tenure.server.settings import ConfigurationError
from tenure.v1 import snapshot_pb2 as pb

from tests.kubernetes.observe.cached_cluster import NOW
from tests.kubernetes.owners.owner_chains import OwnedPods, groups_of

_AT: Final = "adapter.ownerKinds[0]"


def settings_with(folder: Path, *rows: str) -> AdapterSettings:
    """Settings with rows in the flow style of YAML."""
    file = folder / "adapter.yaml"
    listed = "".join(f"    - {row}\n" for row in rows)
    file.write_text(f"adapter:\n  clusterId: c\n  ownerKinds:\n{listed}")
    return load_adapter_settings(file, {}).adapter


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{apiGroup: a}", f"{_AT}.kind: is missing"),
        ("{kind: ''}", f"{_AT}.kind: "),
        ("{kind: T, rolls: []}", f"{_AT}.rolls: unknown key; did you mean roles?"),
        ("{kind: T, podGroup: all}", f"{_AT}.podGroup: Input should be 'pod', 'owner', 'label' or 'below'"),
        ("{kind: T, podGroup: label}", f"{_AT}: `label` and `podGroup: label` require each other"),
        ("{kind: T, label: a}", f"{_AT}: `label` and `podGroup: label` require each other"),
        (
            "{kind: T, podGroup: pod, minimum: $.spec.n}",
            f"{_AT}: `minimum` and `roles` have no meaning with `podGroup: pod`",
        ),
        ("{kind: T, minimum: spec.n}", f"{_AT}.minimum[0]: 'spec.n' is not a path: it must begin with $"),
        ("{kind: T, minimum: '@.n'}", f"{_AT}: a path outside of roles must begin with $"),
        ("{kind: T, queue: '$.spec['}", f"{_AT}.queue[0]: '$.spec[' is not a path (RFC 9535): "),
        ("{kind: T, queue: '$..queue'}", f"{_AT}.queue[0]: '$..queue': name every step of the path"),
        ("{kind: T, queue: \"$.a[?match(@, 'x')]\"}", f"{_AT}.queue[0]: "),
        ("{kind: T, roles: [{size: ['@.n']}]}", f"{_AT}.roles[0].each: is missing"),
        ("{kind: T, roles: [{each: '@.a'}]}", f"{_AT}.roles[0]: `each` must begin with $"),
        ("{kind: T, roles: [{each: $.a, name: '@.['}]}", f"{_AT}.roles[0]: '@.[' is not a path"),
        ("{kind: T, roles: [{each: $.a, nam: x}]}", f"{_AT}.roles[0].nam: unknown key; did you mean name?"),
        ("{kind: T, roles: [{each: $.a, size: [n]}]}", f"{_AT}.roles[0].size[0].first[0]: 'n' is not a path"),
        (
            "{kind: T, roles: [{each: $.a, size: [{default: -1}]}]}",
            f"{_AT}.roles[0].size[0].default: must be at least 0",
        ),
        (
            "{kind: T, roles: [{each: $.a, size: [{frist: $.a}]}]}",
            f"{_AT}.roles[0].size[0].frist: unknown key; did you mean first?",
        ),
    ],
)
def test_errors_name_their_field(tmp_path: Path, row: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_with(tmp_path, row)
    assert problem in str(refused.value)
    assert str(refused.value).count("\n") == 0


def test_a_kind_has_one_row(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_with(tmp_path, "{kind: T}", "{apiGroup: a, kind: T}", "{kind: T}")
    assert "adapter.ownerKinds: the kind 'T' occurs twice in one API group" in str(refused.value)


SIMULATION: Final = """{apiGroup: example.com, kind: Simulation, queue: $.spec.team,
      priorityClass: $.spec.class, preemptibility: $.spec.mode, roleLabels: [example.com/role], roles: [
        {each: $.spec.master, name: master},
        {each: '$.spec.pools[?@.paused != true]', name: '@.name', size: ['@.count', '@.podsPerNode']}]}"""


def test_a_kind_of_others_gives_gangs_without_code(transport: Transport, tmp_path: Path) -> None:
    settings = settings_with(tmp_path, SIMULATION)
    world = OwnedPods(transport)
    world.world.put("priority_classes", {"metadata": {"name": "high"}, "value": 90})
    pools = [{"name": "cpu", "count": 2, "podsPerNode": 3}, {"name": "gpu", "count": 5, "paused": True}]
    words = {"team": "physics", "class": "high", "mode": "Non-Preemptible"}
    spec = {"master": {}, "pools": pools, **words}
    world.owner("example.com/v1", "Simulation/s", spec=spec)
    world.owner("batch/v1", "Job/s-master", "Simulation/s", spec={})
    world.pod("master", "Job/s-master", labels={"example.com/role": "Master"})
    world.pod("cpu-0", "Simulation/s", labels={"example.com/role": "cpu"})
    world.pod("tool", "Simulation/s")
    snapshot = world.builder(settings.all_owner_kinds()).snapshot(NOW)
    assert groups_of(snapshot) == {"cpu-0 master tool": "master 1 + cpu 6 + others 0"}
    [row] = snapshot.pod_groups
    assert (row.name, row.queue, row.priority) == ("s", "physics", 90)
    assert row.preemptibility == pb.PREEMPTIBILITY_NON_PREEMPTIBLE


def test_a_row_replaces_that_of_a_built_in_kind(transport: Transport, tmp_path: Path) -> None:
    """Each StatefulSet as a whole, as some groupers do."""
    settings = settings_with(tmp_path, "{apiGroup: apps, kind: StatefulSet, minimum: $.spec.replicas}")
    world = OwnedPods(transport)
    world.owner("apps/v1", "StatefulSet/s", spec={"replicas": 3})
    for name in "ab":
        world.pod(name, "StatefulSet/s")
    assert groups_of(world.builder(settings.all_owner_kinds()).snapshot(NOW)) == {"a b": "3"}
