"""The web console: a read-only process beside the service, and an ordinary caller of it.

    browser ──► web ──► pages ──► View ◄── Watch ──► gRPC: ListStates, ListCycles, GetState
                          │
                          └── queries ──► gRPC: Simulate, Explain

One thread watches the service for all browsers. Pages render from immutable views.
"""
