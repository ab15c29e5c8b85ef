"""A gang that is non-preemptible within the quota of its queue stays, whatever becomes of its objects.

What is borrowed stays in the reach of its lender after these writes: `test_running_objects`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from google.protobuf.json_format import MessageToJson
from tenure.kubernetes.limits.user_queues import UserQueueRules
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe import pod_group_table
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, new_key
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.state_pb2 import SetAsideRow, SetAsideRows

from tests.attacks.tenants.test_running_objects import GPU, WRITES, Borrowed, evicted_pods
from tests.kubernetes.observe.cached_cluster import (
    CONFIG,
    LATER,
    NOW,
    CachedCluster,
    member,
    node,
    pod,
    pod_group,
    queue,
    running,
)

PODS: Final = {"uid-guest-0", "uid-guest-1"}
CONTENDERS: Final = {
    "of another queue": ("lends", {}),
    "of a higher priority": ("q", {"priorityClassName": "high"}),
}


class Owned(Borrowed):
    """A gang on all eight GPUs, which are the quota of its queue; the other queue has none."""

    quotas = (("q", 8), ("lends", 0))
    preemptibility = pb.PREEMPTIBILITY_NON_PREEMPTIBLE
    preemptibility_text = "non-preemptible"

    def builder_with(self, **more: Any) -> SnapshotBuilder:
        """Another builder, without what is known to the first one."""
        more = {"config": CONFIG, "stored": StoredAnnotations(self.stored._key), **more}
        return self.world.builder(**more)

    def evicted_for(self, contender: str, builder: SnapshotBuilder) -> set[str]:
        """Pods that are evicted for a pod that finds no free GPU."""
        add_contender(self.world, contender)
        return evicted_pods(builder.snapshot(NOW))


class Lent(Owned):
    """A gang that is preemptible, on the GPUs of its queue."""

    preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
    preemptibility_text = "preemptible"


def add_contender(world: CachedCluster, contender: str, gpus: str = "4") -> None:
    name, spec = CONTENDERS[contender]
    world.put("priority_classes", {"metadata": {"name": "high"}, "value": 90})
    meta = {"labels": {names.QUEUE: name}}
    world.put("pods", pod("contender", requests={"nvidia.com/gpu": gpus}, meta=meta, spec=spec))


@pytest.mark.parametrize("contender", CONTENDERS)
def test_contender_would_evict_what_is_preemptible(contender: str) -> None:
    lent = Lent()
    add_contender(lent.world, contender)
    is_reclaimed = contender == "of another queue"
    if is_reclaimed:  # beyond its quota
        lent.world.put("kai_queues", queue("q", resources=_share(0)))
    assert evicted_pods(lent.builder.snapshot(NOW)) == PODS


def _share(gpus: int) -> dict[str, Any]:
    unlimited = {"quota": -1, "limit": -1}
    return {"cpu": unlimited, "memory": unlimited, "gpu": {"quota": gpus, "limit": -1, "overQuotaWeight": 1}}


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_of_an_owner(write: Callable[[Borrowed], None], restarts: bool, contender: str) -> None:
    owned = Owned()
    write(owned)
    builder = owned.new_builder() if restarts else owned.builder
    assert not owned.evicted_for(contender, builder)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
@pytest.mark.parametrize("is_signed", [True, False], ids=["", "unsigned"])
def test_unusable_with_and_without_a_signed_grant(is_signed: bool, restarts: bool, contender: str) -> None:
    owned = Owned()
    builder = owned.builder_with(**_keys(is_signed))
    if not restarts:
        builder.snapshot(NOW)
    WRITES["subgroups in a circle"](owned)
    assert not owned.evicted_for(contender, builder)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("is_signed", [True, False], ids=["", "unsigned"])
def test_topology_that_an_administrator_deletes(is_signed: bool, contender: str) -> None:
    owned = Owned()
    topology = {"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}
    uid = owned.world.put("topologies", topology)
    owned.write_group(topologyConstraint={"topology": "t", "preferredTopologyLevel": "rack"})
    builder = owned.builder_with(**_keys(is_signed))
    builder.snapshot(NOW)
    owned.world.remove("topologies", uid)
    assert not owned.evicted_for(contender, builder)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("is_signed", [True, False], ids=["", "unsigned"])
@pytest.mark.parametrize("is_created_again", [False, True], ids=["deleted", "replaced"])
def test_deleted_object(is_created_again: bool, is_signed: bool, contender: str) -> None:
    """A replacement has another uid, of which no grant is known."""
    owned = Owned()
    builder = owned.builder_with(**_keys(is_signed))
    builder.snapshot(NOW)
    owned.world.remove("kai_pod_groups", "uid-guest")
    assert not owned.evicted_for(contender, builder)
    if is_created_again:
        again = pod_group("guest", minMember=2, preemptibility=owned.preemptibility_text)
        again["metadata"]["uid"] = "another"
        owned.world.put("kai_pod_groups", again)
        assert not evicted_pods(builder.snapshot(NOW))


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("odd", [{"minMember": "two"}, {"queue": 7}, {"labels": {"a": 1}}], ids=str)
@pytest.mark.parametrize("restarts", [False, True], ids=["at a relist", "at a restart"])
@pytest.mark.parametrize("is_signed", [True, False], ids=["", "unsigned"])
def test_object_that_does_not_match_its_kind(
    is_signed: bool, restarts: bool, odd: dict[str, Any], contender: str
) -> None:
    """An adapter that starts knows its names, if not its queue."""
    owned = Owned()
    builder = owned.builder_with(**_keys(is_signed))
    builder.snapshot(NOW)
    owned.world.put_unreadable("kai_pod_groups", owned.group(**odd), is_listed=True)
    if restarts:
        builder = owned.builder_with(**_keys(is_signed))
    assert not owned.evicted_for(contender, builder)
    told = [warned for warned in builder.warnings.active if "it cannot be read: odd" in warned.text]
    assert [one.subject for one in told] == ["PodGroup team/guest"] * restarts


@pytest.mark.parametrize("contender", CONTENDERS)
def test_pods_that_say_their_queue_stay_in_its_quota_when_nothing_else_is_known(contender: str) -> None:
    owned = Owned()
    for name in ("guest-0", "guest-1"):
        owned.write_pod(name, meta={**member("guest"), "labels": {names.QUEUE: "q"}})
    owned.world.remove("kai_pod_groups", "uid-guest")
    builder = owned.new_builder()
    for now in (NOW, LATER):
        add_contender(owned.world, contender)
        snapshot = builder.snapshot(now)
        assert not evicted_pods(snapshot)
    assert {row.pod_group for row in snapshot.pods} > PODS


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("is_late", [False, True], ids=["", "later"])
def test_version_that_is_no_longer_served(is_late: bool, contender: str) -> None:
    owned = Owned()
    for collection in ("kai_pod_groups", "topologies"):
        getattr(owned.world.mirrors, collection).on_replace([])
        del owned.world.mirrors.followed_collections[collection]
    builder = owned.new_builder()
    assert not owned.evicted_for(contender, builder)
    assert not evicted_pods(builder.snapshot(LATER if is_late else NOW))


@pytest.mark.parametrize("contender", CONTENDERS)
def test_deleted_object_is_no_stale_gang(contender: str) -> None:
    """How long the gang may lack pods was written on the object."""
    owned = Owned()
    owned.write_group(stalenessGracePeriod="-1s")
    owned.builder.snapshot(NOW)
    owned.world.remove("kai_pod_groups", "uid-guest")
    owned.world.remove("pods", "uid-guest-0")
    add_contender(owned.world, contender, gpus="8")
    snapshot = owned.builder.snapshot(NOW)
    (row,) = [row for row in snapshot.pod_groups if row.uid == "uid-guest"]
    row.stale_since.seconds = NOW.seconds - 3_600
    assert row.min_member == 2
    assert not evicted_pods(snapshot)


@pytest.mark.parametrize("contender", CONTENDERS)
def test_row_that_the_server_refuses(contender: str) -> None:
    owned = Owned()
    owned.builder.on_set_aside(_refused("uid-guest"))
    assert not owned.evicted_for(contender, owned.builder)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("quota", [8, 4], ids=["", "the quota is lowered later"])
def test_derived_pod_group_with_a_grant_of_the_journal_that_the_server_refuses(
    quota: int, contender: str
) -> None:
    """What counted once stays, also if a quota is lowered (R8.41): the journal knows it."""
    world = CachedCluster()
    world.put("nodes", node())
    world.put("kai_queues", queue("q", resources=_share(quota)))
    world.put("kai_queues", queue("lends", resources=_share(0)))
    labels = {names.QUEUE: "q", names.PREEMPTIBILITY: "non-preemptible"}
    for name in ("guest-0", "guest-1"):
        world.put("pods", running(name, requests=GPU, meta={"labels": labels}))
    builder = world.builder(stored=StoredAnnotations(new_key()))
    grant = pb.Grant(queue="q", preemptibility=pb.PREEMPTIBILITY_NON_PREEMPTIBLE, min_pods=1)
    journal = dict.fromkeys(PODS, grant)
    builder.snapshot(NOW)
    builder.on_set_aside(_refused(*PODS))
    add_contender(world, contender)
    assert not evicted_pods(builder.snapshot(NOW), journal)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("is_signed", [True, False], ids=["", "unsigned"])
def test_objects_that_the_adapter_fails_to_read(
    is_signed: bool, contender: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a mistake")

    owned = Owned()
    builder = owned.builder_with(**_keys(is_signed))
    monkeypatch.setattr(pod_group_table, "kai_pod_group_row", fail)
    assert not owned.evicted_for(contender, builder)
    assert any("a mistake" in warned.text for warned in builder.warnings.active)


@pytest.mark.parametrize("contender", CONTENDERS)
def test_queue_of_a_user_is_that_of_the_grant_after_a_restart(contender: str) -> None:
    """A grant names the queue of a user, in which no pod group counts by its own name."""
    owned = Owned()
    owned.world.put("pods", running("guest-0", requests=GPU, meta=member("guest")))
    grant = pb.Grant(queue="q/team", preemptibility=owned.preemptibility, min_pods=2)
    owned.annotations = owned.stored.renew("uid-guest", {}, {names.GRANT: MessageToJson(grant)})
    owned.write_group(queue="", subGroups=[{"name": ""}])
    rules = replace(CONFIG, user_queues=UserQueueRules(queues=("q",)))
    builder = owned.builder_with(config=rules)
    assert not owned.evicted_for(contender, builder)
    (row,) = [row for row in builder.snapshot(NOW).pod_groups if row.uid == "uid-guest"]
    assert row.queue == "q/team"


def _keys(is_signed: bool) -> dict[str, StoredAnnotations]:
    return {} if is_signed else {"stored": StoredAnnotations(new_key())}


def _refused(*pod_groups: str) -> SetAsideRows:
    return SetAsideRows(rows=[SetAsideRow(field="pod_groups[0]", key=uid) for uid in sorted(pod_groups)])
