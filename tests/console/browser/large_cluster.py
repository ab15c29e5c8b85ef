"""A large cluster as a caller pushes it: nodes of eight GPUs, and workloads of which most run."""

from tenure.v1 import snapshot_pb2 as pb

BEGIN = 1_800_000_000
QUEUES = 20


def large_cluster(nodes: int, workloads: int) -> pb.ClusterSnapshot:
    """Workloads of one to four pods; four of five run as long as GPUs are free."""
    rows = pb.ClusterSnapshot(cluster_id="large", version=1)
    rows.now.seconds = BEGIN
    for number in range(nodes):
        size = rows.nodes.add(name=f"node-{number:04}").allocatable
        size.cpu_milli, size.memory_bytes, size.gpu_milli, size.pods = 128_000, 2**40, 8_000, 200
    for number in range(QUEUES):
        rows.queues.add(name=f"team-{number:02}").gpu_milli.quota = nodes * 8_000 // QUEUES
        rows.queues[-1].reclaim_min_runtime.seconds = 600
    rows.shapes.add(id="gpu").gpu.devices = 1
    used = 0
    for number in range(workloads):
        pods = 1 + number % 4
        runs = number % 5 != 0 and used + pods <= nodes * 8
        group = rows.pod_groups.add(
            uid=f"uid-{number:05}",
            name=f"job-{number:05}",
            namespace="team",
            queue=f"team-{number % QUEUES:02}",
        )
        group.priority, group.min_member = 50 + number % 3, pods
        group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
        group.creation_time.seconds = BEGIN - 3_000 - number
        if runs:
            group.last_start_time.seconds = BEGIN - number % 1_200
        for index in range(pods):
            pod = rows.pods.add(uid=f"{group.uid}-{index}", pod_group=group.uid, shape="gpu")
            pod.status = pb.POD_STATUS_RUNNING if runs else pb.POD_STATUS_PENDING
            if runs:
                pod.node = f"node-{used // 8:04}"
                used += 1
    return rows
