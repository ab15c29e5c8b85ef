"""Leases: who may act at a time."""

import msgspec
from tenure.client.kubernetes.objects.meta import ObjectMeta


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Who holds a lease. Times are texts: they are other machines' clocks, and only compared for change."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(msgspec.Struct, rename="camel", omit_defaults=True):
    """A lease as the API server has it."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
