"""What is decided, done in the cluster: bindings, evictions, and what pod groups are to remember.

Every call is fenced, so that a crash at any point, or another adapter that did the same, does no harm:

    bind            uid, and the API server binds no pod twice; a 409 is looked into
    evict           uid; a pod that terminates is not evicted again
    labels          uid; before the binding, so a crash leaves a pod that waits with labels, to no effect
    annotations     uid and resource version, for the set of all of them is applied
"""
