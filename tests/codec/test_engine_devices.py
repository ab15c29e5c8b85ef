"""Resource claims, NUMA zones, pod affinity and blocked pods, from request to response."""

from dataclasses import replace

from google.protobuf import text_format
from tenure.codec.engine import Engine
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.v1 import decision_pb2
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.resources_pb2 import NumaPlacement, Resources
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.checker import verify

PROFILE = replace(default_profile(), plugins=(*default_profile().plugins, PluginConfig("numa")))

QUESTION = """
cluster_id: "c"
now { seconds: 1700000000 }
nodes { name: "n1" labels { key: "host" value: "n1" }
        allocatable { cpu_milli: 64000 memory_bytes: 64000 gpu_milli: 4000 pods: 10 }
        devices { key: "gpu.example.com" value: 2 }
        numa_policy: NUMA_POLICY_SINGLE_NUMA_NODE
        numa_zones { id: "z0" allocatable { cpu_milli: 2000 gpu_milli: 2000 } }
        numa_zones { id: "z1" allocatable { cpu_milli: 4000 gpu_milli: 2000 } } }
nodes { name: "n2" labels { key: "host" value: "n2" }
        allocatable { cpu_milli: 64000 memory_bytes: 64000 gpu_milli: 4000 pods: 10 } }
queues { name: "q" gpu_milli { quota: 8000 } }
pod_groups { uid: "aligned" queue: "q" creation_time { seconds: 1 } }
pod_groups { uid: "sharing" queue: "q" min_member: 2 creation_time { seconds: 2 } }
pod_groups { uid: "apart" queue: "q" min_member: 2 creation_time { seconds: 3 } }
pod_groups { uid: "blocked" queue: "q" creation_time { seconds: 4 } }
shapes { id: "large" guaranteed: true requests { cpu_milli: 3000 } gpu { devices: 2 } }
shapes { id: "small" requests { cpu_milli: 1000 } }
shapes { id: "apart" requests { cpu_milli: 1000 }
         pod_anti_affinity { topology_key: "host" match_labels { key: "app" value: "web" } } }
pods { uid: "aligned-0" pod_group: "aligned" shape: "large" status: POD_STATUS_PENDING }
pods { uid: "sharing-0" pod_group: "sharing" shape: "small" status: POD_STATUS_PENDING resource_claims: "c" }
pods { uid: "sharing-1" pod_group: "sharing" shape: "small" status: POD_STATUS_PENDING resource_claims: "c" }
pods { uid: "apart-0" pod_group: "apart" shape: "apart" status: POD_STATUS_PENDING
       labels { key: "app" value: "web" } }
pods { uid: "apart-1" pod_group: "apart" shape: "apart" status: POD_STATUS_PENDING
       labels { key: "app" value: "web" } }
pods { uid: "blocked-0" pod_group: "blocked" shape: "small" status: POD_STATUS_PENDING
       blocked_reason: "configmap settings not found" }
resource_claims { id: "c" queue: "q" requests { device_class: "gpu.example.com" count: 2 } }
"""


def question() -> ClusterSnapshot:
    return text_format.Parse(QUESTION, ClusterSnapshot())


def answer(snapshot: ClusterSnapshot) -> DecideResponse:
    response = Engine(PROFILE).decide(DecideRequest(snapshot=snapshot)).parse()
    assert verify(snapshot, response) == []
    return response


def binds(response: DecideResponse) -> dict[str, decision_pb2.Bind]:
    steps = [step for group in response.groups for step in group.decisions]
    return {step.bind.pod: step.bind for step in steps if step.HasField("bind")}


def test_binding_contains_its_numa_placement() -> None:
    bind = binds(answer(question()))["aligned-0"]
    amounts = Resources(cpu_milli=3000, gpu_milli=2000)
    assert bind.node == "n1"
    assert list(bind.numa_placement) == [NumaPlacement(zone="z1", amounts=amounts)]


def test_zones_of_a_running_pod_are_occupied() -> None:
    snapshot = question()
    first = binds(answer(snapshot))["aligned-0"]
    pod = snapshot.pods[0]
    pod.status, pod.node = 6, first.node
    pod.numa_placement.extend(first.numa_placement)
    snapshot.pods.add(uid="aligned-1", pod_group="aligned", shape="large", status=1)
    assert binds(answer(snapshot))["aligned-1"].node == "n2"


def test_pods_that_share_a_claim_are_bound_together_and_counted_once() -> None:
    response = answer(question())
    assert {binds(response)[f"sharing-{i}"].node for i in range(2)} == {"n1"}
    (queue,) = response.queues
    assert queue.allocated_after.gpu_milli == 4000


def test_pods_that_avoid_each_other_are_bound_apart() -> None:
    assert {binds(answer(question()))[f"apart-{i}"].node for i in range(2)} == {"n1", "n2"}


def test_outcome_of_a_pod_group_with_a_blocked_pod_names_the_missing_resource() -> None:
    (outcome,) = [o for o in answer(question()).outcomes if o.pod_group == "blocked"]
    assert outcome.kind == decision_pb2.OUTCOME_KIND_INFEASIBLE
    assert outcome.reason.code == decision_pb2.REASON_CODE_BLOCKED
    assert outcome.reason.message == (
        "Pod group blocked (queue q) cannot be scheduled now: "
        "pod blocked-0 cannot be placed: configmap settings not found."
    )
