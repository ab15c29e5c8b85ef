"""Groups in flight, from the words of a test."""

from collections.abc import Iterator, Mapping, Sequence

from tenure.solver.model.column import Column
from tenure.solver.model.duration import parse_duration
from tenure.solver.model.inflight import InFlightGroup, InFlightStep
from tenure.solver.model.node import Node
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import PodGroup, Task
from tenure.solver.testing.options import InFlightOptions
from tenure.solver.testing.specs import NOW


def in_flight_groups(
    named: Mapping[str, InFlightOptions],
    pod_groups: Column[PodGroup],
    tasks: Column[Task],
    nodes: Mapping[str, Node],
) -> tuple[InFlightGroup, ...]:
    """The groups by id. A pod that is not there belongs to the pod group that its uid begins with."""
    groups = {group.uid: group.index for group in pod_groups}
    pods = {task.uid: task.index for task in tasks}

    def steps(where: Mapping[str, str], devices: Mapping[str, Sequence[str]]) -> Iterator[InFlightStep]:
        for pod, name in where.items():
            yield InFlightStep(
                pod=pod,
                task=pods.get(pod, NOWHERE),
                node=nodes[name].index if name in nodes else NOWHERE,
                pod_group=groups.get(pod.rpartition("-")[0], NOWHERE),
                gpu_groups=tuple(devices.get(pod, ())),
            )

    return tuple(
        InFlightGroup(
            id=name,
            action=options.get("action", "reclaim"),
            beneficiary=groups.get(options.get("beneficiary", ""), NOWHERE),
            expires=NOW + parse_duration(options.get("ends_in", "5m")),
            evictions=tuple(steps(options.get("evicts", {}), {})),
            holds=tuple(steps(options.get("holds", {}), options.get("gpu_groups", {}))),
            bindings=tuple(steps(options.get("binds", {}), options.get("gpu_groups", {}))),
        )
        for name, options in sorted(named.items())
    )
