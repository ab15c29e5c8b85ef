"""A snapshot of 10,000 pods is built within 2 s and updated for 10 pods within 20 ms of processor time."""

from time import process_time

from tests.kubernetes.observe.cached_cluster import NOW, CachedCluster, member, node, pod_group, running

PODS, NODES, GROUPS = 10_000, 1_000, 2_500
FIRST_SECONDS, CHANGE_SECONDS = 2.0, 0.020


def put(world: CachedCluster, number: int, generation: str) -> None:
    meta = {**member(f"g{number % GROUPS}"), "labels": {"generation": generation}}
    requests = {"cpu": str(1 + number % 4), "memory": "4Gi", "nvidia.com/gpu": "1"}
    spec = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kind": str(number % 5)}}
    world.put("pods", running(f"p{number}", on=f"n{number % NODES}", meta=meta, requests=requests, spec=spec))


def test_first_snapshot_and_small_delta_of_10_000_pods_stay_within_their_time_limits() -> None:
    world = CachedCluster()
    for number in range(NODES):
        world.put("nodes", node(f"n{number}", labels={"zone": str(number % 10)}))
    for number in range(GROUPS):
        world.put("kai_pod_groups", pod_group(f"g{number}", minMember=4))
    for number in range(PODS):
        put(world, number, "1")
    picture = world.builder()
    before = process_time()
    snapshot = picture.snapshot(NOW)
    first = process_time() - before
    assert len(snapshot.pods) == PODS
    for number in range(10):
        put(world, number * 7, "2")
        world.put("pods", running(f"new{number}", on="n1", meta=member("g1")))
    before = process_time()
    delta = picture.delta(NOW)
    change = process_time() - before
    assert len(delta.upserts.pods) == 10
    assert first < FIRST_SECONDS
    assert change < CHANGE_SECONDS
