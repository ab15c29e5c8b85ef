"""Which of several places sets preemptibility, priority class and queue of a pod group."""

from typing import Any, Final

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.codec.engine import Engine
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport
from tenure.kubernetes.objects.meta import ObjectMeta, OwnerReference
from tenure.kubernetes.objects.times import FOREVER
from tenure.kubernetes.observe.wishes import Place, preemptibility_of
from tenure.kubernetes.owners.lookup import ApiOwnerLookup
from tenure.kubernetes.owners.owner_lists import REFRESH_SECONDS
from tenure.solver.registry import default_profile
from tenure.terms.preemptibility import Preemptibility
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest

from tests.kubernetes.fake_api_server.server import FakeApiServer
from tests.kubernetes.observe.cached_cluster import CONFIG, NOW, CachedCluster, pod, pod_group, running
from tests.kubernetes.owners.test_owners import create_owner, pod_owned_by
from tests.small_snapshot import small_snapshot

KEY: Final = "kai.scheduler/preemptibility"
VOLCANO_KEY: Final = "volcano.sh/preemptable"
CLASSES: Final = {"train": 50, "build": 100, "inference": 125, "system-node-critical": 2_000_001_000}


def mode_of(row: pb.PodGroup) -> str:
    """The preemptibility of a row as the server reads it."""
    if row.preemptibility:
        return pb.Preemptibility.Name(row.preemptibility).removeprefix("PREEMPTIBILITY_").lower()
    return row.annotations.get(KEY, "")


def annotated(**texts: str) -> dict[str, Any]:
    return {"annotations": texts}


def labelled(**texts: str) -> dict[str, Any]:
    return {"labels": texts}


BOTH: Final = {"annotations": {KEY: "annotation"}, "labels": {KEY: "label"}}
ANNOTATION, LABEL = annotated(**{KEY: "annotation"}), labelled(**{KEY: "label"})
OBJECTS: Final = {
    "field": ({"preemptibility": "Non-Preemptible", **BOTH}, "non_preemptible"),
    "field without hyphen": ({"preemptibility": "nonpreemptible"}, "non_preemptible"),
    "field in capitals": ({"preemptibility": "SEMI-PREEMPTIBLE"}, "semi_preemptible"),
    "unknown field": ({"preemptibility": "sometimes", **BOTH}, "non_preemptible"),
    "annotation and label": (BOTH, "annotation"),
    "label": (LABEL, "label"),
    "empty annotation and label": ({**LABEL, "annotations": {KEY: ""}}, "label"),
    "Volcano's annotation": (annotated(**{VOLCANO_KEY: "true"}), "Preemptible"),
    "Volcano's label": (labelled(**{VOLCANO_KEY: "false"}), "Non-Preemptible"),
    "Volcano's annotation and label": ({**LABEL, "annotations": {VOLCANO_KEY: "true"}}, "label"),
    "nothing": ({}, ""),
}


@pytest.mark.parametrize("kind", ["kai_pod_groups", "volcano_pod_groups"])
@pytest.mark.parametrize("case", OBJECTS)
def test_field_precedes_annotation_and_annotation_precedes_label(kind: str, case: str) -> None:
    written, mode = OBJECTS[case]
    world = CachedCluster()
    world.put(kind, pod_group("g", **written))
    [row] = world.snapshot().pod_groups
    assert mode_of(row) == mode


CLASS_OF_OBJECT: Final = {
    "field": ({"priorityClassName": "build", "labels": {"runai/priority-class": "train"}}, 100),
    "annotation": (
        {"annotations": {"runai/priority-class": "build"}, "labels": {"runai/priority-class": "train"}},
        100,
    ),
    "label": (labelled(**{"runai/priority-class": "inference"}), 125),
    "label of KAI": (labelled(priorityClassName="inference"), 125),
    "class without permission": (labelled(priorityClassName="system-node-critical"), 50),
}


@pytest.mark.parametrize("kind", ["kai_pod_groups", "volcano_pod_groups"])
@pytest.mark.parametrize("case", CLASS_OF_OBJECT)
def test_pod_group_names_its_priority_class_in_field_annotation_or_label(kind: str, case: str) -> None:
    written, priority = CLASS_OF_OBJECT[case]
    world = CachedCluster()
    for name, value in CLASSES.items():
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    world.put(kind, pod_group("g", **written))
    [row] = world.snapshot().pod_groups
    assert row.priority == priority


_APPS, _BATCH = "/apis/apps/v1/namespaces/team", "/apis/batch/v1/namespaces/team"


def deployment(transport: Transport, top: dict[str, Any], below: dict[str, Any]) -> OwnerReference:
    above = create_owner(transport, f"{_APPS}/deployments", "Deployment", "web", **top)
    meta = {**below, **pod_owned_by(above)}
    return create_owner(transport, f"{_APPS}/replicasets", "ReplicaSet", "web-1", **meta)


def cron_job(transport: Transport, top: dict[str, Any], below: dict[str, Any]) -> OwnerReference:
    above = create_owner(transport, f"{_BATCH}/cronjobs", "CronJob", "nightly", **top)
    meta = {**below, **pod_owned_by(above)}
    return create_owner(transport, f"{_BATCH}/jobs", "Job", "nightly-1", **meta)


def place(name: str) -> dict[str, Any]:
    """Metadata with all three values, which name the place."""
    return labelled(**{KEY: name, "kai.scheduler/queue": name, "runai/priority-class": name})


CHAINS: Final = {
    "Deployment": (deployment, place("top"), place("below"), "top"),
    "ReplicaSet": (deployment, {}, place("below"), "below"),
    "pods of a Deployment": (deployment, {}, {}, "pod"),
    "Job before its CronJob": (cron_job, place("top"), place("below"), "below"),
    "CronJob before its pods": (cron_job, place("top"), {}, "top"),
}


@pytest.mark.parametrize("case", CHAINS)
def test_top_owner_precedes_owners_below_and_the_pod_comes_last(
    api: FakeApiServer, transport: Transport, case: str
) -> None:
    make, top, below, winner = CHAINS[case]
    world = CachedCluster()
    for number, name in enumerate(("top", "below", "pod"), 1):
        world.put("priority_classes", {"metadata": {"name": name}, "value": number})
    world.put("pods", pod("p", meta={**place("pod"), **pod_owned_by(make(transport, top, below))}))
    [row] = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW).pod_groups
    expected = ("top", "below", "pod").index(winner) + 1
    assert (mode_of(row), row.queue, row.priority) == (winner, winner, expected)


@pytest.mark.parametrize("changed", ["deployments/web", "replicasets/web-1"])
def test_what_is_written_on_an_owner_later_counts_after_the_next_reading(
    api: FakeApiServer, transport: Transport, changed: str
) -> None:
    world, seconds = CachedCluster(), 0.0
    world.put("pods", pod("p", meta=pod_owned_by(deployment(transport, {}, {}))))
    builder = world.builder(CONFIG, ApiOwnerLookup(transport, stopwatch=lambda: seconds))
    [row] = builder.snapshot(NOW).pod_groups
    assert mode_of(row) == ""
    transport.patch(f"{_APPS}/{changed}", {"metadata": labelled(**{KEY: "preemptible"})}, MERGE_PATCH)
    api.calls.clear()
    assert not builder.delta(NOW).upserts.pod_groups
    assert not api.calls
    assert builder.recheck_seconds == NOW.seconds + REFRESH_SECONDS
    seconds += REFRESH_SECONDS
    deltas = [builder.delta(NOW) for _ in range(3)]
    rows = [row for delta in deltas for row in delta.upserts.pod_groups]
    assert [mode_of(row) for row in rows] == ["preemptible"]
    assert sorted(call.path for call in api.calls) == [
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/replicasets",
    ]


def test_pod_groups_of_a_cron_job_are_its_jobs(api: FakeApiServer, transport: Transport) -> None:
    world = CachedCluster()
    job = cron_job(transport, place("top"), {})
    world.put("pods", pod("p", meta=pod_owned_by(job)))
    [row] = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW).pod_groups
    assert row.name == "nightly-1"


FIELDS: Final = {
    "text": ({"preemptibility": "Non-Preemptible", "priorityClassName": "build"}, ("non_preemptible", 100)),
    "anything else": ({"preemptibility": {"a": 1}, "priorityClassName": 7}, ("", 50)),
}


@pytest.mark.parametrize("case", FIELDS)
def test_fields_of_an_owner_count_if_they_are_text(transport: Transport, case: str) -> None:
    """Run:ai's workloads have both fields. Fields of that name in other kinds may be anything."""
    spec, expected = FIELDS[case]
    world = CachedCluster()
    for name, value in CLASSES.items():
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    job = create_owner(transport, f"{_BATCH}/jobs", "Job", "job", spec=spec)
    world.put("pods", pod("p", meta=pod_owned_by(job)))
    [row] = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW).pod_groups
    assert (mode_of(row), row.priority) == expected


def test_owner_lends_no_class_and_no_stored_value_that_a_pod_may_not_write(transport: Transport) -> None:
    written = {
        "labels": {"priorityClassName": "system-node-critical"},
        "annotations": {"kai.scheduler/last-start-timestamp": "2026-01-01T00:00:00Z"},
    }
    world = CachedCluster()
    for name, value in CLASSES.items():
        world.put("priority_classes", {"metadata": {"name": name}, "value": value})
    world.put("pods", pod("p", meta=pod_owned_by(deployment(transport, written, {}))))
    [row] = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW).pod_groups
    assert row.priority == CLASSES["inference"]
    assert not row.HasField("last_start_time")


def test_minimum_runtimes_of_pod_groups_and_queues_are_annotations(transport: Transport) -> None:
    world = CachedCluster()
    limit = {"annotations": {"kai.scheduler/max-min-runtime": "90m"}}
    for kind, name in (("kai_queues", "a"), ("volcano_queues", "b")):
        world.put(kind, {"metadata": {"name": name, **limit}, "spec": {}})
    own = annotated(**{"kai.scheduler/min-runtime": "2h"})
    world.put("kai_pod_groups", pod_group("g", **own))
    world.put("pods", pod("p", meta=pod_owned_by(deployment(transport, own, {}))))
    snapshot = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW)
    assert {queue.max_min_runtime.seconds for queue in snapshot.queues} == {5_400}
    assert [group.annotations["kai.scheduler/min-runtime"] for group in snapshot.pod_groups] == ["2h", "2h"]


COSTS = {
    "tenure.scheduler/last-checkpoint-time": "2026-07-30T11:50:00Z",
    "tenure.scheduler/checkpoint-interval": "30m",
    "tenure.scheduler/restart-cost": "2m",
    "tenure.scheduler/eviction-cost": "7200",
    "tenure.scheduler/shrink-loses-work": "true",
}


def test_costs_of_an_eviction_are_annotations_of_pod_groups_owners_and_pods(transport: Transport) -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **annotated(**COSTS)))
    world.put("pods", pod("owned", meta=pod_owned_by(deployment(transport, annotated(**COSTS), {}))))
    world.put("pods", pod("alone", meta=annotated(**COSTS)))
    snapshot = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW)
    assert len(snapshot.pod_groups) == 3
    for row in snapshot.pod_groups:
        assert row.last_checkpoint_time.ToJsonString() == "2026-07-30T11:50:00Z"
        assert (row.checkpoint_interval.seconds, row.restart_cost.seconds) == (1_800, 120)
        assert (row.eviction_cost, row.shrink_loses_work) == (7_200, True)


UNREADABLE_COSTS = {
    "last-checkpoint-time": ("yesterday", "'yesterday' is not a time"),
    "checkpoint-interval": ("-30m", "'-30m' is not a duration"),
    "restart-cost": ("2 min", "'2 min' is not a duration"),
    "eviction-cost": ("1.5h", "'1.5h' is not a number of GPU-seconds"),
    "shrink-loses-work": ("maybe", "'maybe' is not true or false, and is read as true"),
}


@pytest.mark.parametrize("key", UNREADABLE_COSTS)
def test_unreadable_cost_is_unset_and_never_makes_a_shrink_easier(key: str) -> None:
    text, problem = UNREADABLE_COSTS[key]
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **annotated(**{f"tenure.scheduler/{key}": text})))
    builder = world.builder()
    [row] = builder.snapshot(NOW).pod_groups
    assert row.shrink_loses_work == (key == "shrink-loses-work")
    for field in ("last_checkpoint_time", "checkpoint_interval", "restart_cost"):
        assert not row.HasField(field)
    assert row.eviction_cost == 0
    assert any(f"tenure.scheduler/{key}: {problem}" in warned.text for warned in builder.warnings.active)


def test_huge_eviction_cost_is_the_largest_one() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **annotated(**{"tenure.scheduler/eviction-cost": "9" * 300})))
    [row] = world.builder().snapshot(NOW).pod_groups
    assert row.eviction_cost == 2**30


def test_notice_is_an_annotation_of_pod_groups_queues_owners_and_pods(transport: Transport) -> None:
    world, asked = CachedCluster(), annotated(**{"tenure.scheduler/notice": "2m"})
    world.put("kai_queues", {"metadata": {"name": "a", **asked}, "spec": {}})
    world.put("volcano_queues", {"metadata": {"name": "b", **asked}, "spec": {}})
    world.put("kai_pod_groups", pod_group("g", **asked))
    world.put("pods", pod("owned", meta=pod_owned_by(deployment(transport, asked, {}))))
    world.put("pods", pod("alone", meta=asked))
    snapshot = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW)
    rows = [*snapshot.pod_groups, *snapshot.queues]
    assert [row.notice.seconds for row in rows] == [120] * 5


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("False", False), ("maybe", False)])
def test_pod_group_says_that_it_saves_its_work_on_notice(text: str, expected: bool) -> None:
    world = CachedCluster()
    said = annotated(**{"tenure.scheduler/checkpoint-on-notice": text})
    world.put("kai_pod_groups", pod_group("g", **said))
    builder = world.builder()
    [row] = builder.snapshot(NOW).pod_groups
    assert row.checkpoint_on_notice is expected
    told = [each.text for each in builder.warnings.active]
    assert any("'maybe' is not true or false" in each for each in told) is (text == "maybe")


@pytest.mark.parametrize("text", ["soon", "-1h", ""])
def test_unreadable_notice_is_the_longest_one(text: str) -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **annotated(**{"tenure.scheduler/notice": text})))
    builder = world.builder()
    [row] = builder.snapshot(NOW).pod_groups
    assert row.notice == FOREVER
    assert any("is not a duration: the longest permitted" in each.text for each in builder.warnings.active)


@pytest.mark.parametrize(("graces", "expected"), [((30, None), 0), ((5,), 5), ((5, None), 30), ((90, 5), 90)])
def test_termination_grace_is_the_longest_one_of_its_pods_unless_all_have_the_default(
    graces: tuple[int | None, ...], expected: int
) -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g"))
    for number, grace in enumerate(graces):
        meta = {"annotations": {"pod-group-name": "g"}}
        more = {} if grace is None else {"terminationGracePeriodSeconds": grace}
        world.put("pods", running(f"p{number}", meta=meta, spec=more))
    [row] = world.builder().snapshot(NOW).pod_groups
    assert row.termination_grace.seconds == expected


@pytest.mark.parametrize("text", ["soon", "-1h"])
def test_invalid_limit_of_a_queue_permits_no_more_than_its_parent(text: str) -> None:
    world = CachedCluster()
    world.put(
        "kai_queues",
        {"metadata": {"name": "q", "annotations": {"kai.scheduler/max-min-runtime": text}}, "spec": {}},
    )
    builder = world.builder()
    [row] = builder.snapshot(NOW).queues
    assert not row.HasField("max_min_runtime")
    assert [warned.subject for warned in builder.warnings.take_new()] == ["Queue q"]


@pytest.mark.parametrize(
    ("annotations", "row", "warning"),
    [
        ({"on-evict": "hold"}, {"on_evict": pb.FATE_HOLD}, ""),
        ({"on-evict": "destroy"}, {"on_evict": pb.FATE_REQUEUE}, "'destroy' is none of requeue, hold"),
        ({"on-time-limit": "requeue"}, {"on_time_limit": pb.FATE_REQUEUE}, ""),
        ({"on-time-limit": "kill"}, {"on_time_limit": pb.FATE_HOLD}, "'kill' is none of requeue, hold"),
        ({"time-limit": "2h"}, {"time_limit": Duration(seconds=7_200)}, ""),
        ({"time-limit": "-2h"}, {"time_limit": Duration()}, "'-2h' is not a duration: it is ignored"),
        ({"hold": "true"}, {"held_by": pb.HOLD_REASON_USER}, ""),
        ({"hold": "until monday"}, {"held_by": pb.HOLD_REASON_USER}, ""),
        ({"hold": "false"}, {"held_by": pb.HOLD_REASON_UNSPECIFIED}, ""),
        ({"hold": "Dependency"}, {"held_by": pb.HOLD_REASON_DEPENDENCY}, ""),
        ({"not-before": "monday"}, {"held_by": pb.HOLD_REASON_USER}, "'monday' is not a time: it is held"),
        ({"released": "soon"}, {}, "'soon' is not a time: it is ignored"),
        ({"released": "2200-01-01T00:00:00Z"}, {}, "is in the future: it is ignored"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_fate_and_hold_of_a_pod_without_a_pod_group(
    annotations: dict[str, str], row: dict[str, Any], warning: str
) -> None:
    world = CachedCluster()
    notes = {f"tenure.scheduler/{key}": text for key, text in annotations.items()}
    world.put("pods", pod("p", meta={"annotations": notes}))
    builder = world.builder()
    (group,) = builder.snapshot(NOW).pod_groups
    assert {field: getattr(group, field) for field in row} == row
    assert not group.HasField("release_time")
    texts = " ".join(each.text for each in builder.warnings.take_new())
    assert (warning in texts) if warning else not texts


@pytest.mark.parametrize(
    ("text", "expected"), [("Hold", "HOLD"), ("immune", "IMMUNE"), ("park", "IMMUNE"), (None, "UNSPECIFIED")]
)
def test_queue_says_what_happens_at_the_limit_of_evictions(text: str | None, expected: str) -> None:
    world = CachedCluster()
    said = {} if text is None else annotated(**{"tenure.scheduler/at-eviction-limit": text})
    world.put("kai_queues", {"metadata": {"name": "a", **said}, "spec": {}})
    world.put("volcano_queues", {"metadata": {"name": "b", **said}, "spec": {}})
    builder = world.builder()
    for row in builder.snapshot(NOW).queues:
        assert pb.AtEvictionLimit.Name(row.at_eviction_limit) == f"AT_EVICTION_LIMIT_{expected}"
    told = [each.text for each in builder.warnings.active]
    assert any("'park' is none of immune, hold" in each for each in told) is (text == "park")


def test_time_before_which_a_pod_group_may_not_start_and_what_it_waits_for() -> None:
    """A time that is over is sent as the time since which it may start."""
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("first"))
    texts = {"not-before": "2200-01-01T00:00:00Z", "depends-on": "first, gone,first,"}
    notes = {f"tenure.scheduler/{key}": text for key, text in texts.items()}
    world.put("kai_pod_groups", pod_group("second", annotations=notes))
    notes = {"tenure.scheduler/not-before": "2020-01-01T00:00:00Z"}
    world.put("kai_pod_groups", pod_group("third", annotations=notes))
    for name in ("first", "second", "third"):
        world.put("pods", pod(name, meta={"annotations": {"pod-group-name": name}}))
    rows = {row.name: row for row in world.builder().snapshot(NOW).pod_groups}
    assert list(rows["second"].depends_on) == [rows["first"].uid, "gone"]
    assert rows["second"].not_before_time.ToJsonString() == "2200-01-01T00:00:00Z"
    assert not rows["third"].HasField("not_before_time")
    assert rows["third"].eligible_time.ToJsonString() == "2020-01-01T00:00:00Z"


TEXTS: Final = ("", " ", "-preemptible", "pre-emptible", "preemptible-", "junk", "SEMIpreemptible")


@pytest.mark.parametrize("place", ["field", "annotation", "label"])
@pytest.mark.parametrize("text", TEXTS)
def test_solver_reads_a_text_alike_in_every_place_r8_20(place: str, text: str) -> None:
    """As if the caller had sent it as the annotation of a pod group itself; kubectl shows no other."""
    spec, metadata = ({"preemptibility": text}, {}) if place == "field" else ({}, {f"{place}s": {KEY: text}})
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **spec, **metadata))
    (row,) = world.snapshot().pod_groups
    assert row.is_preemptibility_label == (place == "label" and bool(text.strip()))
    sent = pb.PodGroup(uid="g", preemptibility=row.preemptibility, annotations=row.annotations)
    expected = effective(pb.PodGroup(uid="g", annotations={KEY: text}))
    assert effective(sent) == expected
    shown = preemptibility_of([Place(ObjectMeta(**metadata), spec.get("preemptibility", ""))])
    assert (shown.mode or Preemptibility.PREEMPTIBLE) == expected
    assert shown.source.name.lower() == (place if text.strip() else "priority")


@pytest.mark.parametrize("place", ["annotation", "label"])
@pytest.mark.parametrize(("text", "mode"), [("true", "preemptible"), ("false", "non_preemptible")])
def test_value_of_volcano_keeps_its_source(place: str, text: str, mode: str) -> None:
    found = preemptibility_of([Place(ObjectMeta(**{f"{place}s": {"volcano.sh/preemptable": text}}))])
    assert (found.mode.name.lower(), found.source.name.lower()) == (mode, place)


def effective(row: pb.PodGroup) -> int:
    """The preemptibility in force of a pod group with the priority 0."""
    snapshot = small_snapshot()
    row.queue, row.creation_time.seconds = "left", 1
    snapshot.pod_groups.append(row)
    request = DecideRequest(snapshot=snapshot, include_pod_group_statuses=True)
    found = Engine(default_profile()).decide(request).parse().pod_group_statuses
    return next(each.preemptibility for each in found if each.pod_group == row.uid)


MOVES = {
    "nothing": (None, None, False),
    "the annotation": (None, "false", True),
    "the annotation, in any case": (None, " False ", True),
    "the annotation is true": (None, "true", False),
    "the field": (False, None, True),
    "the field precedes": (True, "false", False),
}


@pytest.mark.parametrize(("field", "text", "stays"), MOVES.values(), ids=MOVES)
def test_pod_group_that_is_not_safe_to_consolidate_opts_out_r8_51(
    field: bool | None, text: str | None, stays: bool
) -> None:
    world = CachedCluster()
    group = pod_group("g", **(annotated(**{"kai.scheduler/safe-to-consolidate": text}) if text else {}))
    if field is not None:
        group["spec"]["safeToConsolidate"] = field
    world.put("kai_pod_groups", group)
    (row,) = world.builder().snapshot(NOW).pod_groups
    assert list(row.opt_out_actions) == (["consolidation"] if stays else [])


def test_owners_and_pods_are_not_safe_to_consolidate_r8_51(transport: Transport) -> None:
    world, own = CachedCluster(), annotated(**{"kai.scheduler/safe-to-consolidate": "false"})
    world.put("pods", pod("owned", meta=pod_owned_by(deployment(transport, own, {}))))
    world.put("pods", pod("alone", meta=own))
    snapshot = world.builder(CONFIG, ApiOwnerLookup(transport)).snapshot(NOW)
    assert [list(row.opt_out_actions) for row in snapshot.pod_groups] == [["consolidation"]] * 2


def test_other_values_of_safe_to_consolidate_are_ignored_r8_51() -> None:
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **annotated(**{"kai.scheduler/safe-to-consolidate": "no"})))
    builder = world.builder()
    (row,) = builder.snapshot(NOW).pod_groups
    assert list(row.opt_out_actions) == []
    problem = "kai.scheduler/safe-to-consolidate: 'no' is not true or false: it is ignored"
    assert any(problem in warned.text for warned in builder.warnings.active)
