"""API server in this process, for tests that need no real one.

HTTP on loopback, objects in memory. It behaves as kube-apiserver in everything that the adapter relies on:
`tests/kubernetes/api_semantics` sends the same requests to both. It can be slow, reject requests and fail
(see `faults`). It runs no controller, kubelet or scheduler, like the control plane of the tests. It rejects
requests that it does not implement, and never applies a request in part.
"""
