"""An API server in this process, for tests that need no more of one than it has.

HTTP on loopback, objects in memory. It answers as kube-apiserver does in everything the adapter relies on:
`tests/kubernetes/api_semantics` puts the same questions to both. It can be made slow, refusing and unreliable at will
(faults.py). There is no controller, kubelet or scheduler, as on the control plane of the tests; what is not
known to it is refused, never half done.

    server.py     HTTP: one thread for each connection      watches.py    changes as they come, bookmarks
    api.py        which request is meant for whom           writes.py     create, replace, change, delete
    access.py     tokens and roles                          applying.py   server-side apply: whose fields
    kinds.py      what is served; definitions add to it     pods.py       bindings, ends within a grace period
    store.py      objects, versions, history                evictions.py  disruption budgets
    lists.py      pages of one version                      forms.py      how objects are stored
    refusals.py   everything that is not 2xx                faults.py     what goes wrong on demand
"""
