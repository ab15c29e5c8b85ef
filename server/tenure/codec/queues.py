"""Decode queues, topologies and topology constraints; check trees of queues and subgroups."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.codec.checks import MISSING, quota, weight
from tenure.codec.read_facts import read_queue_facts
from tenure.solver.model.cluster import Topology
from tenure.solver.model.facts import QueueFacts
from tenure.solver.model.resources import UNLIMITED, ClassLimit
from tenure.solver.model.workload_parts import TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_DEPTH, MAX_LEVELS
from tenure.wire.violations import ViolationCollector, quote_name

_NAMES_OF_A_CYCLE: Final = 4


def tree_problems(entries: Sequence[tuple[str, str]]) -> dict[int, str]:
    """Problems with the parents of (name, parent) pairs, by position; an empty parent is the top.

    Problems are unknown parents, every entry of a cycle, and entries deeper than MAX_DEPTH. Entries below
    these are not reported. Takes linear time, whatever the depth of the tree.
    """
    positions = {name: i for i, (name, _) in reversed(list(enumerate(entries)))}
    parents = [positions.get(parent) if parent else None for _, parent in entries]
    problems = {
        i: f"{quote_name(parent)} does not exist"
        for i, (_, parent) in enumerate(entries)
        if parent and parents[i] is None
    }
    depths = _depths(parents)
    problems |= {i: f"is more than {MAX_DEPTH} levels deep" for i, d in enumerate(depths) if d > MAX_DEPTH}
    above = {i: parent for i, parent in enumerate(parents) if parent is not None and not depths[i]}
    for cycle in _cycles(above):
        names = [entries[i][0] for i in cycle]
        size = len(names)
        for at, i in enumerate(cycle):
            shown = [names[(at + step) % size] for step in range(min(size, _NAMES_OF_A_CYCLE))]
            problems[i] = _cycle_problem(shown, size)
    return problems


def _depths(parents: Sequence[int | None]) -> list[int]:
    """Depth of each entry, 1 at the top; 0 if it is not connected with the top."""
    children: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(i)
    depths = [0] * len(parents)
    level, depth = [i for i, parent in enumerate(parents) if parent is None], 1
    while level:
        for i in level:
            depths[i] = depth
        level, depth = [child for i in level for child in children[i]], depth + 1
    return depths


def _cycles(above: Mapping[int, int]) -> Iterator[list[int]]:
    """Cycles among entries that are not connected with the top, each from its first entry upwards."""
    seen: set[int] = set()
    for start in above:
        branch, at = [], start
        while at not in seen:
            seen.add(at)
            branch.append(at)
            at = above[at]
        if at in branch:
            yield branch[branch.index(at) :]


def _cycle_problem(names: Sequence[str], size: int) -> str:
    """Problem of an entry of a cycle of this size, given the first names from it upwards."""
    steps = [quote_name(name) for name in names]
    if size > _NAMES_OF_A_CYCLE:
        steps.append("...")
    return f"is its own ancestor: {' -> '.join([*steps, steps[0]])}"


Levels = Mapping[str, Collection[str]]
"""Levels of each topology by name."""


def decode_topologies(messages: Sequence[pb.Topology], findings: ViolationCollector) -> tuple[Topology, ...]:
    """Topologies by name."""
    for i, message in enumerate(messages):
        if not message.levels:
            findings.add(i, "levels", "must have at least one level")
        elif len(message.levels) > MAX_LEVELS:
            problem = f"are {len(message.levels)}, more than {MAX_LEVELS}: leave out levels"
            findings.add(i, "levels", problem)
        first: dict[str, int] = {}
        findings.step()
        for at, level in enumerate(message.levels):
            findings.step()
            if not level:
                findings.add(i, f"levels[{at}]", MISSING)
            elif first.setdefault(level, at) != at:
                findings.add(i, f"levels[{at}]", f"{quote_name(level)} is already a level")
    return tuple(sorted((Topology(m.name, tuple(m.levels)) for m in messages), key=lambda found: found.name))


def decode_constraint(
    message: pb.TopologyConstraint, levels: Levels, findings: ViolationCollector, index: int, field: str
) -> TopologyConstraint:
    """Constraint of the pod group at `index`. Its topology and levels must exist."""
    known = levels.get(message.topology)
    if not message.topology:
        findings.add(index, f"{field}.topology", MISSING)
    elif known is None:
        findings.add(index, f"{field}.topology", f"there is no topology {quote_name(message.topology)}")
    elif not message.required_level and not message.preferred_level:
        findings.add(index, f"{field}.required_level", "is required when preferred_level is empty")
    for name in ("required_level", "preferred_level"):
        level: str = getattr(message, name)
        if level and known is not None and level not in known:
            findings.add(index, f"{field}.{name}", f"{quote_name(level)} is no level of that topology")
    return TopologyConstraint(message.topology, message.required_level, message.preferred_level)


_RESOURCES = ("cpu_milli", "memory_bytes", "gpu_milli")


def decode_queues(messages: Sequence[pb.Queue], findings: ViolationCollector) -> list[QueueFacts]:
    """Facts about each queue. A queue does not limit resources that it does not mention."""
    problems = tree_problems([(message.name, message.parent) for message in messages])
    return [_decode_queue(i, message, problems.get(i, ""), findings) for i, message in enumerate(messages)]


def _decode_queue(i: int, message: pb.Queue, parent_problem: str, findings: ViolationCollector) -> QueueFacts:
    findings.step()
    if parent_problem:
        findings.add(i, "parent", parent_problem)
    cpu, memory, gpu = (_decode_resource(i, message, name, findings) for name in _RESOURCES)
    return read_queue_facts(
        i,
        message,
        findings,
        quota=(cpu.quota, memory.quota, gpu.quota),
        limit=(cpu.limit, memory.limit, gpu.limit),
        weight=(cpu.weight, memory.weight, gpu.weight),
        lending_limit=(cpu.lending_limit, memory.lending_limit, gpu.lending_limit),
        class_limits=_class_limits(i, message.class_limits, findings) if message.class_limits else (),
    )


def _class_limits(
    i: int, messages: Sequence[pb.ClassLimit], findings: ViolationCollector
) -> tuple[ClassLimit, ...]:
    found: dict[str, ClassLimit] = {}
    for at, message in enumerate(messages):
        findings.step()
        field, name = f"class_limits[{at}]", message.node_class
        if not name:
            findings.add(i, f"{field}.node_class", MISSING)
        elif name in found:
            findings.add(i, f"{field}.node_class", f"{quote_name(name)} has a limit already: use one")
        bounds = [
            quota(getattr(message, each), findings, i, f"{field}.{each}")
            if message.HasField(each)
            else UNLIMITED
            for each in ("quota_gpu_milli", "limit_gpu_milli")
        ]
        found[name] = ClassLimit(name, bounds[0], bounds[1])
    return tuple([found[name] for name in sorted(found)])


class _Resource(NamedTuple):
    """Share of one resource; a resource that a queue does not mention is not restricted."""

    quota: int = UNLIMITED
    limit: int = UNLIMITED
    weight: float = 1.0
    lending_limit: int = UNLIMITED


_UNRESTRICTED: Final = _Resource()


def _decode_resource(i: int, queue: pb.Queue, name: str, findings: ViolationCollector) -> _Resource:
    if not queue.HasField(name):
        return _UNRESTRICTED
    message: pb.QueueResource = getattr(queue, name)

    def bound(field: str) -> int:
        value: int = getattr(message, field)
        return quota(value, findings, i, f"{name}.{field}")

    is_set = message.HasField
    return _Resource(
        bound("quota"),
        bound("limit") if is_set("limit") else UNLIMITED,
        weight(message.over_quota_weight, findings, i, f"{name}.over_quota_weight")
        if is_set("over_quota_weight")
        else 1.0,
        bound("lending_limit") if is_set("lending_limit") else UNLIMITED,
    )
