"""Kubernetes objects as rows of a snapshot; docs/reference/kubernetes-objects.md has the mapping.

    object caches ──► SnapshotBuilder ──► ClusterSnapshot, or a StateDelta with the changes
                             │
                             ├── nodes        allocatable, less the usage of pods without a row
                             ├── pods, shapes, requests, gpus
                             ├── queues, pod groups (KAI and Volcano), derived pod groups
                             └── warnings     dubious values, each reported once

A dubious value never makes a pod group easier to evict: it protects, or the object is omitted and its usage
counts.
"""
