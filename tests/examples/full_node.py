"""A snapshot in which `old` runs on the only node, and `new` of the same queue is pending."""

from typing import Final

SNAPSHOT: Final = """
clusterId: c
version: "1"
now: 2025-01-01T12:00:00Z
nodes: [{name: n, allocatable: {cpuMilli: 1000, memoryBytes: 1000, pods: 110}}]
queues: [{name: q, cpuMilli: {quota: 1000}, memoryBytes: {quota: 1000}}]
shapes: [{id: s, requests: {cpuMilli: 1000, memoryBytes: 10}}]
podGroups:
- {uid: old, queue: q, priority: 50, creationTime: 2025-01-01T00:00:00Z, lastStartTime: 2025-01-01T01:00:00Z}
- {uid: new, queue: q, priority: 75, creationTime: 2025-01-01T00:00:00Z}
pods:
- {uid: p, podGroup: old, shape: s, node: n, status: POD_STATUS_RUNNING, creationTime: 2025-01-01T00:00:00Z}
- {uid: w, podGroup: new, shape: s, status: POD_STATUS_PENDING, creationTime: 2025-01-01T00:00:00Z}
"""
