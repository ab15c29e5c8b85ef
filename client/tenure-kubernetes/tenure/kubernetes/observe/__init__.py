"""From Kubernetes objects to rows of a snapshot; docs/reference/kubernetes-objects.md has the table.

    mirrors ──► picture ──► ClusterSnapshot, or a StateDelta of what changed
                   │
                   ├── nodes        allocatable, less what is taken by pods that are in no row
                   ├── pods, shapes, requests, gpus
                   ├── queues, podgroups (of KAI and of Volcano), derived (without a pod group object)
                   └── warnings     whatever could not be taken as it was written, each told once

In doubt nothing becomes easier to evict: what cannot be read protects, or is left out and its room counts as
taken.
"""
