"""Decisions as writes to the cluster: bindings, evictions, annotations, conditions and events.

Every write has a precondition, so that a crash at any point, or another adapter with the same decision, does
no harm:

    bind            uid; the API server binds no pod twice, and a 409 is looked up
    evict           uid; a pod that terminates is not evicted again
    labels          uid; before the binding, so after a crash a pending pod has labels without effect
    annotations     uid and resource version, because all of them are applied together
"""
