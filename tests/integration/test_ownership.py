"""A decision changes only what the adapter sent, and ends only what asks for that."""

from typing import Any, Final

import pytest
from tenure.integration.ownership import MAX_REFUSALS, Refusals, find_foreign, permits_fate
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decision_pb2 import Decision, Evict


class Rows:
    """Implements SentRows: a pod `p` of the pod group `g` on the node `n`."""

    def __init__(self, group: dict[str, Any] | None = None, **queues: dict[str, Any]) -> None:
        self.group = pb.PodGroup(uid="g", queue="leaf", **(group or {}))
        self.queues = {name: pb.Queue(name=name, **fields) for name, fields in queues.items()}

    def pod(self, uid: str) -> pb.Pod | None:
        return pb.Pod(uid="p", pod_group="g", node="n") if uid == "p" else None

    def pod_group(self, uid: str) -> pb.PodGroup | None:
        return self.group if uid == "g" else None

    def queue(self, name: str) -> pb.Queue | None:
        return self.queues.get(name)

    def has_node(self, name: str) -> bool:
        return name == "n"


NAMED: Final = "its pod group is g, but the decision names "
FOREIGN: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "eviction": ({"evict": {"pod": "p", "pod_group": "g"}}, ""),
    "eviction for another pod group": ({"evict": {"pod": "p", "pod_group": "x"}}, NAMED + "x"),
    "eviction for none": ({"evict": {"pod": "p"}}, NAMED + "none"),
    "eviction of what was not sent": (
        {"evict": {"pod": "x", "pod_group": "g"}},
        "the pod is not in the snapshot",
    ),
    "notice": ({"notify": {"pod": "p", "pod_group": "g"}}, ""),
    "notice for another pod group": ({"notify": {"pod": "p", "pod_group": "x"}}, NAMED + "x"),
    "withdrawal": ({"withdraw_notice": {"pod": "p", "pod_group": "g"}}, ""),
    "withdrawal for another pod group": ({"withdraw_notice": {"pod": "p", "pod_group": "x"}}, NAMED + "x"),
    "binding": ({"bind": {"pod": "p", "node": "n"}}, ""),
    "binding to what was not sent": ({"bind": {"pod": "p", "node": "x"}}, "node x is not in the node pool"),
    "binding of what was not sent": ({"bind": {"pod": "x", "node": "n"}}, "the pod is not in the snapshot"),
}


@pytest.mark.parametrize(("decision", "why"), FOREIGN.values(), ids=FOREIGN)
def test_decision_is_foreign_unless_pod_pod_group_and_node_were_sent(
    decision: dict[str, Any], why: str
) -> None:
    assert find_foreign(Decision(**decision), Rows()) == why


DELETE, SUSPEND, HOLD, REQUEUE = pb.FATE_DELETE, pb.FATE_SUSPEND, pb.FATE_HOLD, pb.FATE_REQUEUE
LIMIT: Final = {"time_limit": {"seconds": 60}}
FATES: Final[dict[str, tuple[pb.Fate, Rows, bool]]] = {
    "it may always wait again": (REQUEUE, Rows({"on_evict": DELETE}), True),
    "it may always be held": (HOLD, Rows(), True),
    "it may always be relocated": (pb.FATE_UNSPECIFIED, Rows({"on_evict": DELETE}), True),
    "none asks": (DELETE, Rows(leaf={}), False),
    "it asks": (DELETE, Rows({"on_evict": DELETE}), True),
    "it asks for another end": (DELETE, Rows({"on_evict": SUSPEND}), False),
    "its queue asks": (DELETE, Rows(leaf={"on_evict": DELETE}), True),
    "a queue above asks": (DELETE, Rows(leaf={"parent": "top"}, top={"on_evict": DELETE}), True),
    "it asks before its queue": (DELETE, Rows({"on_evict": REQUEUE}, leaf={"on_evict": DELETE}), False),
    "the nearest queue asks for something else": (
        DELETE,
        Rows(leaf={"parent": "top", "on_evict": HOLD}, top={"on_evict": DELETE}),
        False,
    ),
    "it asks for it at its time limit": (DELETE, Rows({"on_time_limit": DELETE, **LIMIT}), True),
    "it has no time limit": (DELETE, Rows({"on_time_limit": DELETE}), False),
    "its queue asks for it at the limit of one above": (
        DELETE,
        Rows(leaf={"parent": "top", "on_time_limit": DELETE}, top=LIMIT),
        True,
    ),
    "queues in a circle": (DELETE, Rows(leaf={"parent": "leaf"}), False),
}


@pytest.mark.parametrize(("fate", "rows", "is_permitted"), FATES.values(), ids=FATES)
def test_workload_ends_only_if_it_or_its_nearest_queue_asks_for_that(
    fate: pb.Fate, rows: Rows, is_permitted: bool
) -> None:
    assert permits_fate(Evict(pod="p", pod_group="g", fate=fate), rows) == is_permitted


@pytest.mark.parametrize("own", [pb.FATE_UNSPECIFIED, REQUEUE])
def test_wish_that_is_read_again_replaces_that_of_the_row(own: pb.Fate) -> None:
    assert not permits_fate(Evict(pod="p", pod_group="g", fate=DELETE), Rows({"on_evict": DELETE}), own)


def test_wish_of_the_pod_group_that_a_decision_names_does_not_count() -> None:
    asks = Rows({"on_evict": DELETE})
    assert not permits_fate(Evict(pod="x", pod_group="g", fate=DELETE), asks)


def test_refusals_are_kept_until_they_are_taken_up_to_a_limit() -> None:
    refusals = Refusals()
    for number in range(MAX_REFUSALS + 1):
        refusals.add("evict", f"pod team/p{number}", "it is not its own")
    texts = [refusal.text for refusal in refusals.take()]
    assert (len(texts), texts[0]) == (MAX_REFUSALS, "Eviction of pod team/p1 refused: it is not its own.")
    assert not list(refusals.take())
