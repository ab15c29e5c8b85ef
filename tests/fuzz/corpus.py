"""Valid seed requests, by method. Their fields cover every part of the decoder."""

from functools import cache
from typing import Final, NamedTuple

from google.protobuf import text_format
from google.protobuf.message import Message
from tenure.v1 import capabilities_pb2, cycles_pb2, explain_pb2, simulate_pb2, state_pb2
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import snapshot_pb2 as pb

from tests.server.reports.group_reports import APPLIED, BINDING, EVICTING, LATER, STALE, report, request
from tests.small_snapshot import SMALL

RICH: Final = """
resource_claims { id: "c" requests { device_class: "gpu.example.com" count: 1 } queue: "left" node: "n2" }
eviction_history { victim: "runs" preemptor: "waits" last_eviction_time { seconds: 1699999000 }
                   consecutive_failures: 2 last_failure_time { seconds: 1699999500 } result_pending: true }
in_flight_groups { id: "f" action: "reclaim" beneficiary: "waits" expire_time { seconds: 1700000300 }
                   evictions { pod: "runs-0" node: "n1" pod_group: "runs" }
                   reservations { pod: "waits-0" node: "n1" pod_group: "waits" }
                   reservations { pod: "moved" node: "n2" gpu_groups: "d" pod_group: "runs" }
                   bindings { pod: "tree-1" node: "n3"
                              numa_placement { zone: "1" amounts { cpu_milli: 5 } } } }
in_flight_groups { id: "over" beneficiary: "runs" expire_time { seconds: 1600000000 } }
nodes { name: "n3" allocatable { cpu_milli: 64000 memory_bytes: 640000 pods: 10
                                 extended { key: "nvidia.com/mig-1g.5gb" value: 2 } }
        devices { key: "gpu.example.com" value: 4 } mig_strategy: MIG_STRATEGY_MIXED
        taints { key: "dedicated" value: "x" effect: TAINT_EFFECT_NO_SCHEDULE }
        labels { key: "rack" value: "r1" } unready_conditions: "DiskPressure"
        numa_policy: NUMA_POLICY_RESTRICTED
        numa_zones { id: "0" allocatable { cpu_milli: 32000 } available { cpu_milli: 16000 } }
        numa_zones { id: "1" allocatable { cpu_milli: 32000 } } }
pod_groups { uid: "tree" name: "tree" namespace: "ns" queue: "left" priority: 120 min_sub_group: 1
             creation_time { seconds: 1600000002 } last_start_time { seconds: 1699990000 }
             preemptibility: PREEMPTIBILITY_SEMI_PREEMPTIBLE
             staleness_grace_period { seconds: 60 } preemption_delay { seconds: 1 }
             expected_runtime { seconds: 600 } requeue_delay { seconds: 60 }
             annotations { key: "kai.scheduler/expected-runtime" value: "1h30m" }
             annotations { key: "kai.scheduler/requeue-not-before" value: "2023-11-14T10:30:00Z" }
             annotations { key: "kai.scheduler/preemptibility" value: "Preemptible" }
             opt_out_actions: "reclaim" eviction_count: 1 total_eviction_wait { seconds: 5 }
             evictions_without_progress: 1 evictions { by_cause { key: "preempt" value: 1 } }
             on_evict: FATE_SUSPEND suspendable: true
             held_by: HOLD_REASON_EVICTED release_time { seconds: 1700000000 }
             last_checkpoint_time { seconds: 1699995000 }
             checkpoint_interval { seconds: 600 } restart_cost { seconds: 60 } eviction_cost: 100
             shrink_loses_work: true checkpoint_on_notice: true
             notice { seconds: 60 } termination_grace { seconds: 30 } last_notice_time { seconds: 1700000000 }
             sub_groups { name: "all" min_sub_group: 1 }
             sub_groups { name: "leader" parent: "all" min_member: 1 }
             sub_groups { name: "workers" parent: "all" min_member: 1
                          topology_constraint { topology: "racks" preferred_level: "rack" } } }
pods { uid: "tree-0" name: "leader" pod_group: "tree" sub_group: "leader" shape: "picky"
       status: POD_STATUS_RUNNING node: "n3" leader: true task_priority: 5 labels { key: "app" value: "x" }
       numa_placement { zone: "0" amounts { cpu_milli: 1000 } } }
pods { uid: "tree-1" pod_group: "tree" sub_group: "workers" shape: "claiming" status: POD_STATUS_PENDING
       resource_claims: "c" nominated_node: "n2" }
shapes { id: "picky" requests { cpu_milli: 1000 memory_bytes: 1000 } guaranteed: true
         node_selector { key: "rack" value: "r1" }
         node_affinity { requirements { key: "rack" operator: SELECTOR_OPERATOR_IN values: "r1" } }
         tolerations { key: "dedicated" exists: true }
         pod_affinity { match_labels { key: "app" value: "x" } topology_key: "rack" } }
shapes { id: "claiming" requests { cpu_milli: 500 memory_bytes: 10 } }
shapes { id: "memory" requests { cpu_milli: 1 } gpu { devices: 1 memory_mib: 1000 } }
pod_columns { string_table: "waits" string_table: "gpu" string_table: "runs" string_table: "n2"
              string_table: "" uid: "x-0" uid: "x-1" name: "x0" name: "x1" pod_group: 0 pod_group: 2
              shape: 1 shape: 1 status: POD_STATUS_PENDING status: POD_STATUS_RUNNING node: 4 node: 3
              creation_time_delta_ns: 1600000000000000000 creation_time_delta_ns: 1000 }
"""

EPOCH: Final = "e1"


class SeedRequest(NamedTuple):
    """A method and the messages of one call."""

    method: str
    messages: tuple[Message, ...]


@cache
def snapshot() -> pb.ClusterSnapshot:
    """A small snapshot with values in almost every field."""
    return text_format.Parse(SMALL + RICH, pb.ClusterSnapshot())


def push_request(version: int = 7) -> SeedRequest:
    """Push the state that deltas are based on."""
    whole = pb.ClusterSnapshot()
    whole.CopyFrom(snapshot())
    whole.version = version
    return SeedRequest(
        "PutSnapshot", (state_pb2.PutSnapshotRequest(epoch=EPOCH, chunk=whole, last_chunk=True),)
    )


def results_report() -> Message:
    """A report with a result of every kind."""
    refused = report(
        EVICTING,
        """eviction_history { victim: "v1" preemptor: "b" consecutive_failures: 2
           last_eviction_time { seconds: 900 } last_failure_time { seconds: 950 } result_pending: true }""",
        e1=APPLIED,
        e2=f'{LATER} detail: "429" retry_time {{ seconds: 1020 }}',
    )
    bound = report(BINDING, b1=APPLIED, b2=STALE)
    bound.group.id = "other"
    return request(refused, bound)


@cache
def seeds() -> tuple[SeedRequest, ...]:
    """Calls that succeed when they are sent unchanged, in this order. Do not change them."""
    reference = state_pb2.StateReference(cluster_id="test", epoch=EPOCH, version=7)
    delta = state_pb2.StateDelta(base=reference, version=8, now={"seconds": 1_700_000_100})
    delta.upserts.MergeFrom(pb.ClusterSnapshot(nodes=snapshot().nodes[:1], pods=snapshot().pods[2:3]))
    delta.removals.MergeFrom(state_pb2.StateKeys(pods=["runs-1", "x-0"], resource_claims=["gone"]))
    return (
        SeedRequest(
            "Decide", (service_pb.DecideRequest(snapshot=snapshot(), actions=["allocate", "reclaim"]),)
        ),
        SeedRequest("Decide", (service_pb.DecideRequest(snapshot=snapshot()),)),
        push_request(),
        SeedRequest("Decide", (service_pb.DecideRequest(state=reference, now={"seconds": 1_700_000_200}),)),
        SeedRequest(
            "Simulate", (simulate_pb2.SimulateRequest(state=reference, cycles=2, interval={"seconds": 600}),)
        ),
        SeedRequest("Simulate", (simulate_pb2.SimulateRequest(snapshot=snapshot(), upserts=delta.upserts),)),
        SeedRequest(
            "Explain", (explain_pb2.ExplainRequest(state=reference, why_pending={"pod_group": "waits"}),)
        ),
        SeedRequest(
            "Explain", (explain_pb2.ExplainRequest(snapshot=snapshot(), why_victim={"pod_group": "runs"}),)
        ),
        SeedRequest("GetCapabilities", (capabilities_pb2.GetCapabilitiesRequest(),)),
        SeedRequest("ApplyDelta", (state_pb2.ApplyDeltaRequest(delta=delta),)),
        SeedRequest("GetState", (state_pb2.GetStateRequest(cluster_id="test"),)),
        SeedRequest("ListStates", (cycles_pb2.ListStatesRequest(),)),
        SeedRequest("ListCycles", (cycles_pb2.ListCyclesRequest(cluster_id="test", after=1),)),
        SeedRequest("ReportResults", (results_report(),)),
        SeedRequest("SyncState", (state_pb2.SyncStateRequest(nonce="n", delta=delta),)),
    )
