"""Queues of users: where they come from, what they are bounded by, and what tenants cannot do (R19.10)."""

from random import Random
from typing import Any

import pytest
from tenure.kubernetes.limits.set_aside import QUEUE_FORBIDDEN
from tenure.kubernetes.limits.user_queues import UserQueueRules
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.row_limits import DEFAULT_MAX_ROWS, ListLimits, SenderLimits

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, node, pod, queue, running

USER = "example.com/user"
QUEUE = "kai.scheduler/queue"


def scope(**rules: Any) -> SnapshotScope:
    chosen = UserQueueRules(**{"queues": ("team-*",), **rules})
    return SnapshotScope(cluster_id="test", node_pool_label="", user_queues=chosen)


class Teams:
    """Queues team-a and team-b, and one without users; each pod is a pod group of its own."""

    def __init__(self, annotations: dict[str, str] | None = None, **rules: Any) -> None:
        self.world, self.scope = CachedCluster(), scope(**rules)
        self.world.put("nodes", node())
        for name in ("team-a", "team-b", "shared"):
            item = queue(name, resources={"cpu": {"quota": -1}, "gpu": {"quota": 4, "limit": 8}})
            item["metadata"]["annotations"] = annotations or {}
            self.world.put("kai_queues", item)
        self.builder = self.world.builder(self.scope)

    def add(self, name: str, team: str = "team-a", is_running: bool = False, **meta: Any) -> None:
        user, namespace = meta.pop("user", None), meta.pop("namespace", "ns")
        notes = {QUEUE: team, **({USER: user} if user is not None else {})}
        made = running if is_running else pod
        self.world.put("pods", made(name, meta={"namespace": namespace, "annotations": notes, **meta}))

    def read(self) -> tuple[dict[str, str], set[str]]:
        """Queues of pod groups, and names of the queues of users; as a new builder reads them."""
        updated = self.builder.snapshot(NOW)
        fresh = self.world.builder(self.scope).snapshot(NOW)
        assert (updated.queues, updated.pod_groups, updated.pods) == (
            fresh.queues,
            fresh.pod_groups,
            fresh.pods,
        )
        self.queues: dict[str, pb.Queue] = {row.name: row for row in updated.queues}
        assert all(self.queues[row.queue] for row in updated.pod_groups)
        users = self.queues.keys() - {"team-a", "team-b", "shared"}
        return {row.name: row.queue for row in updated.pod_groups}, set(users)

    def refusals(self) -> dict[str, str]:
        aside = self.builder.set_aside.objects.values()
        assert all(each.reason.code == QUEUE_FORBIDDEN for each in aside)
        return {each.target.name: each.reason.text for each in aside}


def test_users_are_namespaces_below_their_team() -> None:
    """Two teams may have a user with the same name; the other queue has none."""
    teams = Teams()
    teams.add("a1", namespace="alice")
    teams.add("a2", namespace="alice")
    teams.add("a3", namespace="bob")
    teams.add("b1", "team-b", namespace="alice")
    teams.add("s1", "shared", namespace="alice")
    found, users = teams.read()
    assert found == {
        "a1": "team-a/alice",
        "a2": "team-a/alice",
        "a3": "team-a/bob",
        "b1": "team-b/alice",
        "s1": "shared",
    }
    assert users == {"team-a/alice", "team-a/bob", "team-b/alice"}
    assert {teams.queues[each].parent for each in users} == {"team-a", "team-b"}


def test_queue_of_a_user_goes_with_its_last_pod_group() -> None:
    teams = Teams()
    teams.add("a1", namespace="alice")
    teams.add("a2", namespace="bob")
    assert teams.read()[1] == {"team-a/alice", "team-a/bob"}
    teams.world.remove("pods", "uid-a2")
    assert teams.read()[1] == {"team-a/alice"}


def test_bounds_of_users_are_annotations_of_the_queue_of_the_team() -> None:
    notes = {"user-limits": "gpu=2, disk=1", "user-quotas": "gpu=0.5", "user-max-running": "3"}
    teams = Teams({f"tenure.scheduler/{key}": text for key, text in notes.items()})
    teams.add("a1", namespace="alice")
    teams.read()
    row = teams.queues["team-a/alice"]
    assert row.gpu_milli == pb.QueueResource(quota=500, limit=2_000, over_quota_weight=1)
    assert row.cpu_milli == pb.QueueResource(quota=-1, limit=-1, over_quota_weight=1)
    assert row.max_running == 3
    assert any("'disk' is none of" in each.text for each in teams.builder.warnings.active)


def test_without_bounds_users_compete_for_what_the_team_has_a_quota_of() -> None:
    teams = Teams()
    teams.add("a1", namespace="alice")
    teams.read()
    row = teams.queues["team-a/alice"]
    assert row.gpu_milli == pb.QueueResource(quota=0, limit=-1, over_quota_weight=1)
    assert row.cpu_milli == pb.QueueResource(quota=-1, limit=-1, over_quota_weight=1)
    assert not row.HasField("max_running")


@pytest.mark.parametrize("user", ["alice", "Alice.B_c-d@example.com", "a", "7"])
def test_annotation_names_the_user(user: str) -> None:
    teams = Teams(annotation=USER)
    teams.add("a1", user=user)
    assert teams.read() == ({"a1": f"team-a/{user}"}, {f"team-a/{user}"})
    assert teams.refusals() == {}


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        (None, "its pods need the annotation example.com/user"),
        ("", "its pods need the annotation example.com/user"),
        ("-", "'-' is not the name of a user: at most 63 letters"),
        ("a/b", "'a/b' is not the name"),
        ("alice ", "'alice ' is not the name"),
        ("../team-b/bob", "is not the name"),
        ("a\nb", "is not the name"),
        ("ä", "is not the name"),
        ("a" * 64, "is not the name"),
    ],
)
def test_pod_group_without_a_valid_user_waits_and_is_told_why(user: str | None, problem: str) -> None:
    """What runs already stays: it counts in the team, where nothing starts."""
    teams = Teams(annotation=USER)
    teams.add("waits", user=user)
    teams.add("runs", user=user, is_running=True)
    assert teams.read() == ({"runs": "team-a/-"}, {"team-a/-"})
    assert problem in teams.refusals()["waits"]
    teams.add("waits", user="alice")
    assert teams.read()[0]["waits"] == "team-a/alice"
    assert "waits" not in teams.refusals()


@pytest.mark.parametrize("named", ["team-a/bob", "team-a/-", "team-b/alice", "shared/alice", "/"])
def test_no_pod_group_names_the_queue_of_a_user(named: str) -> None:
    teams = Teams()
    teams.add("b1", namespace="bob")
    teams.add("thief", named, namespace="mallory")
    found, _ = teams.read()
    assert found == {"b1": "team-a/bob"}
    assert f"queue {named!r} is that of a user: name the queue of the team" in teams.refusals()["thief"]


def test_pod_group_that_runs_and_then_names_the_queue_of_another_user_stays_in_its_own() -> None:
    teams = Teams()
    teams.add("b1", namespace="bob", is_running=True)
    teams.add("thief", namespace="mallory", is_running=True)
    teams.builder.snapshot(NOW)
    teams.add("thief", "team-a/bob", namespace="mallory", is_running=True)
    rows = teams.builder.snapshot(NOW).pod_groups
    assert {row.name: row.queue for row in rows} == {"b1": "team-a/bob", "thief": "team-a/mallory"}


def at(day: int) -> dict[str, str]:
    return {"creationTimestamp": f"2027-01-{day:02}T00:00:00Z"}


def test_invented_users_do_not_displace_those_who_were_there() -> None:
    """First those with pods on nodes, then those with the oldest pod groups."""
    teams = Teams(annotation=USER, most=2)
    teams.add("late", user="late", is_running=True, **at(9))
    teams.add("early", user="early", **at(1))
    for number in range(5):
        teams.add(f"fake-{number}", user=f"fake-{number}", **at(2 + number))
    assert teams.read() == (
        {"late": "team-a/late", "early": "team-a/early"},
        {"team-a/late", "team-a/early"},
    )
    assert len(teams.refusals()) == 5
    assert "queue 'team-a' has 2 users already, the most of userQueues.maxUsers" in teams.refusals()["fake-0"]
    teams.world.remove("pods", "uid-early")
    assert teams.read()[0] == {"late": "team-a/late", "fake-0": "team-a/fake-0"}


def test_all_teams_have_equal_parts_of_the_queues_that_a_server_accepts() -> None:
    """Three queues of the cluster, one for each team without a user, and one user of each."""
    teams = Teams(annotation=USER)
    teams.builder.use_limits(SenderLimits(max_rows=ListLimits({**DEFAULT_MAX_ROWS, "queues": 7})))
    for number in range(4):
        teams.add(f"a{number}", user=f"user-{number}", **at(1 + number))
    teams.add("b", "team-b", user="only", **at(9))
    rows = teams.builder.snapshot(NOW)
    assert {row.name: row.queue for row in rows.pod_groups} == {"a0": "team-a/user-0", "b": "team-b/only"}
    assert len(rows.queues) <= 7


def test_without_the_setting_queues_are_as_named() -> None:
    teams = Teams(queues=())
    teams.add("a1", namespace="alice")
    teams.add("odd", "team-a/alice")
    rows = teams.builder.snapshot(NOW)
    assert {row.name: row.queue for row in rows.pod_groups} == {"a1": "team-a", "odd": "team-a/alice"}
    assert {row.name for row in rows.queues} == {"team-a", "team-b", "shared"}


@pytest.mark.parametrize("seed", range(8))
def test_changed_builder_has_the_rows_of_a_new_one(seed: int) -> None:
    random, teams = Random(seed), Teams(annotation=USER, most=2)
    for _ in range(12):
        name = f"p{random.randrange(5)}"
        teams.world.remove("pods", f"uid-{name}")
        if random.random() < 0.8:
            team, user = random.choice(("team-a", "team-b", "shared")), random.choice(("u", "v", "w", "!"))
            teams.add(name, team, random.random() < 0.4, user=user, **at(random.randint(1, 9)))
        queues, users = teams.read()
        assert {each for each in queues.values() if "/" in each} == users
        for team in ("team-a", "team-b"):
            assert len({each for each in users if each.startswith(f"{team}/")} - {f"{team}/-"}) <= 2
