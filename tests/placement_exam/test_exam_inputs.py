"""The inputs of the exam: numbers of Go's generator, the order of arrivals, and what is counted."""

import pytest

from tests.placement_exam.arrivals import arrivals
from tests.placement_exam.go_random import GoRandom
from tests.placement_exam.play import allocated, free_nodes
from tests.placement_exam.reference_value import FreeNode, Target, target_mix, value
from tests.placement_exam.trace_lists import ExamNode, ExamPod

NODES = [ExamNode("a", 8000, 64, 2, "T4"), ExamNode("b", 8000, 64, 8, "A10")]


def pods(count: int, gpus: int = 1, gpu_milli: int = 1000) -> list[ExamPod]:
    return [ExamPod(f"p{number:02}", 1000, 1, gpus, gpu_milli, "") for number in range(count)]


def test_numbers_are_those_of_go() -> None:
    """Printed by Go 1.26 with `math/rand`, seeds 1 and 42."""
    assert GoRandom(1).int63() == 5_577_006_791_947_779_410
    random = GoRandom(1)
    assert [random.below(100) for _ in range(10)] == [81, 87, 47, 59, 81, 18, 25, 40, 56, 0]
    random, letters = GoRandom(42), list("abcdefgh")
    assert random.permutation(8) == [7, 5, 3, 4, 2, 1, 6, 0]
    random.shuffle(letters)
    assert "".join(letters) == "chafbged"
    assert (random.below(7855), random.int63()) == (5628, 6_570_415_425_842_765_075)


def test_copies_arrive_at_the_end_up_to_130_percent() -> None:
    arrived = arrivals(NODES, pods(5), 42)
    assert sorted(pod.name for pod in arrived.pods[:5]) == [pod.name for pod in pods(5)]
    assert [pod.name.partition("-")[2] for pod in arrived.pods[5:]] == [f"tuned-{i}" for i in range(8)]
    assert sum(pod.total_gpu_milli for pod in arrived.pods) == 13_000


def test_the_last_copy_may_exceed_them_because_one_of_its_gpus_is_counted() -> None:
    assert sum(pod.total_gpu_milli for pod in arrivals(NODES, pods(2, gpus=4), 42).pods) == 16_000


def test_more_than_130_percent_is_removed_at_random() -> None:
    arrived = arrivals(NODES, pods(40), 42)
    assert len(arrived.pods) == 13
    assert {pod.name for pod in arrived.pods} < {pod.name for pod in pods(40)}


def test_nodes_have_random_prefixes() -> None:
    names = {tuple(node.name for node in arrivals(NODES, pods(5), seed).nodes) for seed in range(1, 20)}
    assert names == {("0000-a", "0001-b"), ("0000-b", "0001-a")}


def test_what_is_in_use_is_the_mean_over_the_last_arrivals() -> None:
    """With 1,000 devices, ten arrivals round to 130 %; in five of them, one more device is in use."""
    nodes, arrived = [ExamNode("a", 0, 0, 1000, "T4")], pods(1300)
    some = arrivals(nodes, arrived, 42)._replace(pods=arrived)
    places = {pod.name: ("a", ()) for pod in [*arrived[:900], arrived[-3]]}
    assert allocated(some, places) == pytest.approx(90 + 0.1 * 3 / 6)


def test_free_devices_are_whole_ones_and_the_rest_of_shared_ones() -> None:
    whole, share = ExamPod("w", 1000, 1, 1, 1000, ""), ExamPod("s", 500, 1, 1, 300, "")
    arrived = arrivals(NODES[:1], [share, whole], 1)._replace(pods=[share, whole], nodes=NODES[:1])
    assert free_nodes(arrived, {"s": ("a", ("a/gpu-0",))}) == [FreeNode("T4", 7500, (1000, 700))]
    assert free_nodes(arrived, {"s": ("a", ("x",)), "w": ("a", ())}) == [FreeNode("T4", 6500, (700,))]


def test_value_is_nine_tenths_for_one_pod_and_one_tenth_for_copies() -> None:
    """0.4 of a device twice, and CPU for one pod: one pod can use both parts; two would not fit."""
    ((target, part),) = target_mix([ExamPod("x", 6, 0, 1, 400, "")])
    assert (target, part) == (Target(6, 400, 1, ""), 1)
    assert value(FreeNode("T4", 8, (400, 400)), [(target, part)]) == 40
