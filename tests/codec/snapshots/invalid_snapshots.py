"""Statements that make the small snapshot `s` invalid, with the violations that they cause."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.resources_pb2 import NumaPlacement
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.codec.snapshots.invalid_pod_groups import INVALID_POD_GROUPS

_NEW = "is not a value of this version of the contract"
_MOST = "is more than the largest amount, 9007199254740992"
_NANOS = "nanoseconds are not a part of a second"
_TERM = "shapes[0].node_affinity[0].requirements[0]"

INVALID_SNAPSHOTS: dict[str, tuple[str, ...]] = {
    "s.ClearField('cluster_id')": ("cluster_id: is required",),
    "s.ClearField('now')": ("now: is required",),
    "s.now.nanos = -1": (f"now: -1 {_NANOS}",),
    "s.now.seconds = 2**40": ("now: is not between the years 1677 and 2262",),
    # Nodes
    "s.nodes[1].name = ''": ("nodes[1].name: is required",),
    "s.nodes[1].name = 'n1'": ("nodes[1].name: 'n1' is already used by element 0",),
    "s.nodes[0].allocatable.cpu_milli = -1": ("nodes[0].allocatable.cpu_milli: -1 is negative",),
    "s.nodes[0].allocatable.pods = 2**63 - 1": (f"nodes[0].allocatable.pods: {2**63 - 1} {_MOST}",),
    "s.nodes[0].allocatable.gpu_milli = 1500": (
        "nodes[0].allocatable.gpu_milli: is not a number of whole devices: a multiple of 1000",
    ),
    "s.nodes[0].allocatable.extended['x/y'] = -2": ("nodes[0].allocatable.extended['x/y']: -2 is negative",),
    "s.nodes[0].allocatable.extended[''] = 2": ("nodes[0].allocatable.extended['']: name is required",),
    "s.nodes[0].allocatable.extended['cpu'] = 2": (
        "nodes[0].allocatable.extended['cpu']: has a field of its own: use cpu_milli",
    ),
    "s.nodes[0].gpu_memory_mib = 50": (
        "nodes[0].gpu_memory_mib: 50 is neither 0 (unknown) nor at least 100",
    ),
    "s.nodes[0].gpu_memory_mib = 2**34": (
        f"nodes[0].gpu_memory_mib: {2**34} is a terabyte or more: give MiB, not bytes",
    ),
    "s.nodes[0].taints.add()": (
        "nodes[0].taints[0].key: is required",
        "nodes[0].taints[0].effect: is required",
    ),
    "s.nodes[0].taints.add(key='k', effect=9)": (f"nodes[0].taints[0].effect: 9 {_NEW}",),
    "s.nodes[0].mig_strategy = 3": (f"nodes[0].mig_strategy: 3 {_NEW}",),
    "s.nodes[0].devices['gpu.example.com'] = -1": ("nodes[0].devices['gpu.example.com']: -1 is negative",),
    "s.nodes[0].devices['nic.example.com'] = 10001": (
        "nodes[0].devices['nic.example.com']: 10001 is more than the largest amount, 10000",
    ),
    "s.nodes[0].devices[''] = 1": ("nodes[0].devices['']: class is required",),
    "s.nodes[0].numa_policy = 4": (f"nodes[0].numa_policy: 4 {_NEW}",),
    "s.nodes[0].numa_zones.extend([pb.NumaZone(), pb.NumaZone(id='0'), pb.NumaZone(id='0')])": (
        "nodes[0].numa_zones[0].id: is required",
        "nodes[0].numa_zones[2].id: '0' is already a zone of the node",
    ),
    "s.nodes[0].numa_zones.add(id='0').available.cpu_milli = -1": (
        "nodes[0].numa_zones[0].available.cpu_milli: -1 is negative",
    ),
    "s.nodes[0].numa_zones.extend(pb.NumaZone(id=str(i)) for i in range(17))": (
        "nodes[0].numa_zones: are 17, more than 16",
    ),
    # Queues
    "s.queues[2].name = ''": ("queues[2].name: is required",),
    "s.queues[2].name = 'left'": ("queues[2].name: 'left' is already used by element 1",),
    "s.queues[1].parent = 'no'": ("queues[1].parent: 'no' does not exist",),
    "s.queues[0].parent = 'left'": (
        "queues[0].parent: is its own ancestor: 'top' -> 'left' -> 'top'",
        "queues[1].parent: is its own ancestor: 'left' -> 'top' -> 'left'",
    ),
    "s.queues[0].parent = 'top'": ("queues[0].parent: is its own ancestor: 'top' -> 'top'",),
    "s.queues.extend(pb.Queue(name=f'd{i}', parent=f'd{i - 1}' if i else '') for i in range(33))": (
        "queues[35].parent: is more than 32 levels deep",
    ),
    "s.queues[0].creation_time.nanos = 10**9": (f"queues[0].creation_time: 1000000000 {_NANOS}",),
    "s.queues[0].cpu_milli.quota = -2": ("queues[0].cpu_milli.quota: -2 is negative; -1 is unlimited",),
    "s.queues[0].memory_bytes.limit = -5": ("queues[0].memory_bytes.limit: -5 is negative; -1 is unlimited",),
    "s.queues[0].gpu_milli.quota = 2**62 + 1": (
        f"queues[0].gpu_milli.quota: {2**62 + 1} is more than the largest amount, {2**62}",
    ),
    "s.queues[0].gpu_milli.over_quota_weight = float('nan')": (
        "queues[0].gpu_milli.over_quota_weight: is not a number",
    ),
    "s.queues[0].gpu_milli.over_quota_weight = -0.5": (
        "queues[0].gpu_milli.over_quota_weight: -0.5 is not between 0 and 1e+09",
    ),
    "s.queues[0].gpu_milli.over_quota_weight = float('inf')": (
        "queues[0].gpu_milli.over_quota_weight: inf is not between 0 and 1e+09",
    ),
    "s.queues[0].reclaim_min_runtime.seconds = -1": ("queues[0].reclaim_min_runtime: is negative",),
    "s.queues[0].preempt_min_runtime.seconds = 2**40": (
        "queues[0].preempt_min_runtime: is longer than a hundred years",
    ),
    "s.queues[0].expected_runtime.seconds = -1": ("queues[0].expected_runtime: is negative",),
    "s.queues[0].requeue_delay.seconds = -1": ("queues[0].requeue_delay: is negative",),
    "s.queues[0].expected_runtime.nanos = -10**9": (
        "queues[0].expected_runtime: seconds and nanos do not belong together",
    ),
    **INVALID_POD_GROUPS,
    # Pods
    "s.pods[0].uid = ''": ("pods[0].uid: is required",),
    "s.pods[3].uid = 'runs-0'": ("pods[3].uid: 'runs-0' is already used by element 0",),
    "s.pods[0].pod_group = ''": ("pods[0].pod_group: is required",),
    "s.pods[0].pod_group = 'no'": ("pods[0].pod_group: there is no pod group with uid 'no'",),
    "s.pods[0].shape = ''": ("pods[0].shape: is required",),
    "s.pods[0].shape = 'no'": ("pods[0].shape: there is no shape with id 'no'",),
    "s.pods[2].status = 0": ("pods[2].status: is required",),
    "s.pods[2].status = 12": (f"pods[2].status: 12 {_NEW}",),
    "s.pods[0].node = ''": ("pods[0].node: is required for a pod that occupies a node",),
    "s.pods[0].creation_time.nanos = -1": (f"pods[0].creation_time: -1 {_NANOS}",),
    "s.pods[1].ClearField('gpu_groups')": (
        "pods[1].gpu_groups: must name the 1 shared devices that the pod uses, not 0",
    ),
    "s.shapes[1].gpu.devices = 3; s.pods[1].gpu_groups.extend(['d', ''])": (
        "pods[1].gpu_groups[1]: 'd' is named twice",
        "pods[1].gpu_groups[2]: is required",
    ),
    "s.pods[0].resource_claims.extend(['no', 'c', 'c'])\n"
    "s.resource_claims.add(id='c', requests=[_REQUEST])": (
        "pods[0].resource_claims[0]: there is no device claim 'no'",
        "pods[0].resource_claims[2]: 'c' is named twice",
    ),
    "s.nodes[0].numa_zones.add(id='z'); s.pods[0].numa_placement.extend([_IN_ZONE, _IN_ZONE])": (
        "pods[0].numa_placement[1].zone: 'z' is named twice",
    ),
    # Shapes
    "s.shapes.add()": ("shapes[2].id: is required",),
    "s.shapes.add(id='gpu')": ("shapes[2].id: 'gpu' is already used by element 0",),
    "s.shapes[0].requests.memory_bytes = -8": ("shapes[0].requests.memory_bytes: -8 is negative",),
    "s.shapes[0].requests.gpu_milli = 1000": ("shapes[0].requests.gpu_milli: must stay unset: use gpu",),
    "s.shapes[0].requests.pods = 1": ("shapes[0].requests.pods: must stay unset: every task takes one slot",),
    "s.shapes[0].gpu.devices = -1": ("shapes[0].gpu.devices: -1 is not between 0 and 10000",),
    "s.shapes[1].gpu.devices = 0": ("shapes[1].gpu.devices: must be at least 1 when portion_milli is set",),
    "s.shapes[0].gpu.portion_milli = 1001": ("shapes[0].gpu.portion_milli: 1001 is not between 1 and 1000",),
    "s.shapes[1].gpu.portion_milli = 0": ("shapes[1].gpu.portion_milli: 0 is not between 1 and 1000",),
    "s.shapes[1].gpu.memory_mib = 0": ("shapes[1].gpu.memory_mib: 0 is not between 1 and 1048575",),
    "s.shapes[0].node_affinity.add().requirements.add()": (
        f"{_TERM}.key: is required",
        f"{_TERM}.operator: is required",
    ),
    "s.shapes[0].node_affinity.add().requirements.add(key='k', operator=1)": (
        f"{_TERM}.values: must have at least one value with IN",
    ),
    "s.shapes[0].node_affinity.add().requirements.add(key='k', operator=3, values=['v'])": (
        f"{_TERM}.values: must be empty with EXISTS",
    ),
    "s.shapes[0].node_affinity.add().requirements.add(key='k', operator=5, values=['v'])": (
        f"{_TERM}.values: must be one integer of at most 18 digits with GREATER_THAN, not 'v'",
    ),
    "s.shapes[0].tolerations.add()": ("shapes[0].tolerations[0].key: is required unless `exists` is set",),
    "s.shapes[0].tolerations.add(exists=True, effect=4)": (f"shapes[0].tolerations[0].effect: 4 {_NEW}",),
    "s.shapes[0].pod_affinity.add()": ("shapes[0].pod_affinity[0].topology_key: is required",),
    "s.shapes[0].pod_anti_affinity.add(topology_key='rack', all_namespaces=True, namespaces=['', 'a'])": (
        "shapes[0].pod_anti_affinity[0].namespaces: must be empty with all_namespaces",
        "shapes[0].pod_anti_affinity[0].namespaces[0]: is required",
    ),
    "s.shapes[0].pod_affinity.add(topology_key='rack').match_expressions.add(operator=1)": (
        "shapes[0].pod_affinity[0].match_expressions[0].key: is required",
        "shapes[0].pod_affinity[0].match_expressions[0].values: must have at least one value with IN",
    ),
    "s.shapes[0].pod_affinity.add(topology_key='rack').match_expressions.add(key='a', operator=5)": (
        f"shapes[0].pod_affinity[0].match_expressions[0].operator: 5 {_NEW}",
    ),
    "s.shapes[0].pod_affinity.add(topology_key='a').match_expressions.add(key='a', operator=3, values='b')": (
        "shapes[0].pod_affinity[0].match_expressions[0].values: must be empty with EXISTS",
    ),
    "s.shapes[0].pod_affinity.add(topology_key='a', match_expressions=65 * [dict(key='a', operator=3)])": (
        "shapes[0].pod_affinity[0].match_expressions: are 65, more than 64: use fewer",
    ),
    "[s.shapes[0].topology_spread.add(topology_key='a', max_skew=1) for _ in range(65)]": (
        "shapes[0].topology_spread: are 65, more than 64: use fewer",
    ),
    "[s.shapes[0].preferred_topology_spread.add(topology_key='a', max_skew=1) for _ in range(65)]": (
        "shapes[0].preferred_topology_spread: are 65, more than 64: use fewer",
    ),
    "s.shapes[0].preferred_topology_spread.add()": (
        "shapes[0].preferred_topology_spread[0].topology_key: is required",
        "shapes[0].preferred_topology_spread[0].max_skew: 0 is not between 1 and 1073741824",
    ),
    "[s.shapes[0].preferred_node_affinity.add() for _ in range(65)]": (
        "shapes[0].preferred_node_affinity: are 65, more than 64: use fewer",
    ),
    "s.shapes[0].preferred_node_affinity.add()": (
        "shapes[0].preferred_node_affinity[0].weight: 0 is not between 1 and 100",
        "shapes[0].preferred_node_affinity[0].preference.requirements: is required",
    ),
    "s.shapes[0].preferred_node_affinity.add(weight=101, preference={'requirements': [{'operator': 1}]})": (
        "shapes[0].preferred_node_affinity[0].weight: 101 is not between 1 and 100",
        "shapes[0].preferred_node_affinity[0].preference.requirements[0].key: is required",
        "shapes[0].preferred_node_affinity[0].preference.requirements[0].values: "
        "must have at least one value with IN",
    ),
    "[s.shapes[0].preferred_pod_affinity.add() for _ in range(65)]": (
        "shapes[0].preferred_pod_affinity: are 65, more than 64: use fewer",
    ),
    "s.shapes[0].preferred_pod_affinity.add(weight=-1, term={'namespaces': ['']})": (
        "shapes[0].preferred_pod_affinity[0].weight: -1 is not between 1 and 100",
        "shapes[0].preferred_pod_affinity[0].term.topology_key: is required",
        "shapes[0].preferred_pod_affinity[0].term.namespaces[0]: is required",
    ),
    "s.shapes[0].preferred_pod_anti_affinity.add(weight=1)": (
        "shapes[0].preferred_pod_anti_affinity[0].term.topology_key: is required",
    ),
    "s.shapes[0].topology_spread.add(min_domains=-1)": (
        "shapes[0].topology_spread[0].topology_key: is required",
        "shapes[0].topology_spread[0].max_skew: 0 is not between 1 and 1073741824",
        "shapes[0].topology_spread[0].min_domains: -1 is not between 0 and 1073741824",
    ),
    "s.shapes[0].host_ports.add(ip='every')": (
        "shapes[0].host_ports[0].port: 0 is not between 1 and 65535",
        "shapes[0].host_ports[0].ip: 'every' is not an IP address",
    ),
    "s.nodes[0].other_pods.add()": ("nodes[0].other_pods[0].count: 0 is not between 1 and 1073741824",),
    # Topologies
    "s.topologies.append(s.topologies[0])": ("topologies[1].name: 'racks' is already used by element 0",),
    "s.topologies.add(name='t')": ("topologies[1].levels: must have at least one level",),
    "s.topologies[0].levels.extend(['', 'rack'])": (
        "topologies[0].levels[1]: is required",
        "topologies[0].levels[2]: 'rack' is already a level",
    ),
    # Resource claims
    "s.resource_claims.add()": (
        "resource_claims[0].id: is required",
        "resource_claims[0].requests: must have at least one request",
    ),
    "s.resource_claims.extend([pb.ResourceClaim(id='c', requests=[_REQUEST])] * 2)": (
        "resource_claims[1].id: 'c' is already used by element 0",
    ),
    "s.resource_claims.add(id='c').requests.add()": (
        "resource_claims[0].requests[0].device_class: is required",
        "resource_claims[0].requests[0].count: 0 is not at least 1",
    ),
    "s.resource_claims.add(id='c', requests=[_REQUEST], other_consumers=-1)": (
        "resource_claims[0].other_consumers: -1 is negative",
    ),
    "s.resource_claims.add(id='c', requests=[_REQUEST], from_template=True)\n"
    "for pod in s.pods[:2]: pod.resource_claims.append('c')": (
        "resource_claims[0].from_template: cannot be set: 2 pods of the snapshot use the claim",
    ),
    # Eviction history
    "s.eviction_history.add()": (
        "eviction_history[0].victim: is required",
        "eviction_history[0].preemptor: is required",
        "eviction_history[0].last_eviction_time: is required",
    ),
    "s.eviction_history.extend([_REMEMBERED, _REMEMBERED])": (
        "eviction_history[1].victim: the pair 'runs' and 'waits' is already used by element 0",
    ),
    "s.eviction_history.add(victim='gone', preemptor='waits').last_eviction_time.nanos = -1": (
        f"eviction_history[0].last_eviction_time: -1 {_NANOS}",
    ),
    "s.eviction_history.append(_REMEMBERED); s.eviction_history[0].consecutive_failures = -1": (
        "eviction_history[0].consecutive_failures: -1 is negative",
    ),
    "s.eviction_history.append(_REMEMBERED); s.eviction_history[0].consecutive_failures = 2**30 + 1": (
        f"eviction_history[0].consecutive_failures: {2**30 + 1} is more than the largest amount, {2**30}",
    ),
    "s.eviction_history.append(_REMEMBERED); s.eviction_history[0].last_failure_time.seconds = 2**40": (
        "eviction_history[0].last_failure_time: is not between the years 1677 and 2262",
    ),
    # In-flight groups
    "s.eviction_rates.add(tokens_milli=-2**54)": (
        "eviction_rates[0].name: is required",
        "eviction_rates[0].time: is required",
        f"eviction_rates[0].tokens_milli: {2**54} is more than the largest amount, {2**53}",
    ),
    "s.eviction_rates.extend([pb.EvictionRateState(name='r', time={'seconds': 1})] * 2)": (
        "eviction_rates[1].name: 'r' is already used by element 0",
    ),
    "s.disruption_budgets.add(allowed=-1)": (
        "disruption_budgets[0].name: is required",
        "disruption_budgets[0].allowed: -1 is negative",
    ),
    "s.planned_starts.add(held=-1, certainty=9, delayed_by=9).pods.add(node='n1', pods=-1)": (
        "planned_starts[0].pod_group: is required",
        "planned_starts[0].since: is required",
        f"planned_starts[0].certainty: 9 {_NEW}",
        f"planned_starts[0].delayed_by: 9 {_NEW}",
        "planned_starts[0].held: -1 is negative",
        "planned_starts[0].pods[0].pods: -1 is negative",
    ),
    "s.planned_starts.add(pod_group='g', since={'seconds': 1}).start_time.nanos = -1": (
        f"planned_starts[0].start_time: -1 {_NANOS}",
    ),
    "s.postponed_pod_groups.extend([pb.PostponedPodGroup(pod_group='g')] * 2)": (
        "postponed_pod_groups[0].since: is required",
        "postponed_pod_groups[1].pod_group: 'g' is already used by element 0",
        "postponed_pod_groups[1].since: is required",
    ),
    "s.queue_usage.add(queue='q').used.rate.gpu = -1": (
        "queue_usage[0].time: is required",
        "queue_usage[0].used.rate.gpu: -1 is negative",
    ),
    "s.queue_usage.extend([pb.QueueUsage()] * 2)": (
        "queue_usage[1].queue: the capacity is already used by element 0",
    ),
    "s.queue_usage.add(queue='q').normalized.cpu = 10**9 + 1": (
        f"queue_usage[0].normalized.cpu: {10**9 + 1} is more than the largest amount, {10**9}",
    ),
    "s.queue_runtimes.extend([*[pb.QueueRuntimes(queue='q')] * 2, pb.QueueRuntimes()])": (
        "queue_runtimes[0].time: is required",
        "queue_runtimes[1].queue: 'q' is already used by element 0",
        "queue_runtimes[1].time: is required",
        "queue_runtimes[2].queue: is required",
        "queue_runtimes[2].time: is required",
    ),
    "s.queue_runtimes.add(queue='q', time={'seconds': 1}).sizes.extend("
    "[pb.SizeRuntimes(gpu_milli=-1, seconds=[-1]), pb.SizeRuntimes(), pb.SizeRuntimes(seconds=[1] * 65)])": (
        "queue_runtimes[0].sizes[0].gpu_milli: -1 is negative",
        "queue_runtimes[0].sizes[0].seconds[0]: -1 is negative",
        "queue_runtimes[0].sizes[2].gpu_milli: 0 is already used",
        "queue_runtimes[0].sizes[2].seconds: has 65 values, more than 64",
    ),
    "s.disruption_budgets.extend([pb.DisruptionBudget(name='b')] * 2)": (
        "disruption_budgets[1].name: 'b' is already used by element 0",
    ),
    "s.disruption_budgets.add(name='b', allowed=2**30 + 1).next_allowed_time.nanos = -1": (
        f"disruption_budgets[0].next_allowed_time: -1 {_NANOS}",
        f"disruption_budgets[0].allowed: {2**30 + 1} is more than the largest amount, {2**30}",
    ),
    "s.pods[0].disruption_budgets.extend(['b', '', 'b'])": (
        "pods[0].disruption_budgets[1]: is required",
        "pods[0].disruption_budgets[2]: 'b' is named twice",
    ),
    "s.in_flight_groups.add()": (
        "in_flight_groups[0].id: is required",
        "in_flight_groups[0].expire_time: is required",
    ),
    "s.in_flight_groups.extend([_PROMISED, _PROMISED])": (
        "in_flight_groups[1].id: 'f' is already used by element 0",
    ),
    "s.in_flight_groups.append(_PROMISED); s.in_flight_groups[0].expire_time.seconds = 2**40": (
        "in_flight_groups[0].expire_time: is not between the years 1677 and 2262",
    ),
}

_NAMES = {
    "pb": pb,
    "Duration": Duration,
    "_REQUEST": pb.DeviceRequest(device_class="gpu.example.com", count=1),
    "_IN_ZONE": NumaPlacement(zone="z"),
    "_PROMISED": pb.InFlightGroup(id="f", expire_time=Timestamp(seconds=1)),
    "_REMEMBERED": pb.EvictionRecord(
        victim="runs", preemptor="waits", last_eviction_time={"seconds": 1_690_000_000}
    ),
}


def apply_change(snapshot: ClusterSnapshot, how: str) -> ClusterSnapshot:
    """Return the snapshot after one of the statements above."""
    exec(how, {"s": snapshot, **_NAMES})
    return snapshot
