"""Owners of pods, with the fields that contain the size of a gang, preemptibility and priority class."""

from typing import Any

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta


class Replicas(msgspec.Struct, rename="camel", omit_defaults=True):
    """Replicas of one role."""

    replicas: int = 1


class _JobSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    parallelism: int = 1


class _JobTemplate(msgspec.Struct, rename="camel", omit_defaults=True):
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)


class ReplicatedJob(msgspec.Struct, rename="camel", omit_defaults=True):
    """Equal jobs of a job set."""

    replicas: int = 1
    template: _JobTemplate = msgspec.field(default_factory=_JobTemplate)


class SchedulingPolicy(msgspec.Struct, rename="camel", omit_defaults=True):
    """Scheduling policy of a training job."""

    min_available: int | None = None


class RunPolicy(msgspec.Struct, rename="camel", omit_defaults=True):
    """Run policy of a training job."""

    scheduling_policy: SchedulingPolicy | None = None


class WorkerGroup(msgspec.Struct, rename="camel", omit_defaults=True):
    """Equal workers of a Ray cluster."""

    replicas: int = 0
    min_replicas: int | None = None
    num_of_hosts: int = 1


class OwnerSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Fields that are read, of all kinds of owners. What other kinds have in the last two may be anything."""

    replicated_jobs: list[ReplicatedJob] = []
    run_policy: RunPolicy = msgspec.field(default_factory=RunPolicy)
    pytorch_replica_specs: dict[str, Replicas] = {}
    tf_replica_specs: dict[str, Replicas] = {}
    mpi_replica_specs: dict[str, Replicas] = {}
    xgb_replica_specs: dict[str, Replicas] = {}
    jax_replica_specs: dict[str, Replicas] = {}
    paddle_replica_specs: dict[str, Replicas] = {}
    worker_group_specs: list[WorkerGroup] | None = None
    preemptibility: Any = ""
    priority_class_name: Any = ""


class OwnerObject(msgspec.Struct, rename="camel", omit_defaults=True):
    """An owner of pods, or of another owner."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: OwnerSpec = msgspec.field(default_factory=OwnerSpec)

    def gang(self) -> int:
        """Size of the gang; 0: not set."""
        spec = self.spec
        policy = spec.run_policy.scheduling_policy
        if policy is not None and policy.min_available is not None:
            return max(policy.min_available, 0)
        if spec.replicated_jobs:
            return sum(job.replicas * job.template.spec.parallelism for job in spec.replicated_jobs)
        if spec.worker_group_specs is not None:
            return 1 + sum(map(_workers, spec.worker_group_specs))
        roles = (
            *spec.pytorch_replica_specs.values(),
            *spec.tf_replica_specs.values(),
            *spec.mpi_replica_specs.values(),
            *spec.xgb_replica_specs.values(),
            *spec.jax_replica_specs.values(),
            *spec.paddle_replica_specs.values(),
        )
        return sum(role.replicas for role in roles)


def _workers(group: WorkerGroup) -> int:
    replicas = group.replicas if group.min_replicas is None else group.min_replicas
    return replicas * group.num_of_hosts
