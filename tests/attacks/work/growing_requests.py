"""Requests with a growing number of elements in one repeated field or map, for every such field of the
contract.

`generated_cases` fills each field by its descriptor with elements that are empty, equal or distinct, which
are mostly invalid. `VALID` fills the fields of a snapshot with valid elements and with what refers to them,
where the most work is done. Both have a case for a new field, or fail until there is one.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.v1 import decision_pb2, report_pb2, simulate_pb2, state_pb2
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.decision_service_pb2 import DESCRIPTOR
from tenure.v1.explain_pb2 import ExplainRequest
from tenure.wire.deltas import HEADER

from tests.attacks.work.growing_constraints import CONSTRAINTS, Fill
from tests.attacks.work.growing_fields import FIELDS
from tests.attacks.work.growing_rows import ROWS, TIME, base_snapshot

Path = tuple[FieldDescriptor, ...]
EPOCH: Final = "epoch"


Call = tuple[str, list[Message]]
"""Name of a method, and its requests."""


class Case(NamedTuple):
    """One way to fill a field."""

    field: str
    """Message and field, as in `Node.taints`."""
    name: str
    """How it is filled, and in which request."""
    calls: Callable[[int], list[Call]]
    """Calls with this number of elements, each of which is counted. The first is never: it pushes a state."""


def request_types() -> dict[str, Descriptor]:
    """Request of each method."""
    methods = DESCRIPTOR.services_by_name["DecisionService"].methods
    return {method.name: method.input_type for method in methods}


def repeated_paths(message: Descriptor, above: Path = ()) -> Iterator[Path]:
    """Paths from a message to all its repeated fields and maps, however deep."""
    for field in message.fields:
        inner = field.message_type
        if field.is_repeated:
            yield (*above, field)
        is_own = inner is not None and inner.file.package == message.file.package
        if inner is not None and is_own and not inner.GetOptions().map_entry:
            yield from repeated_paths(inner, (*above, field))


def field_name(field: FieldDescriptor) -> str:
    """Message and field."""
    return f"{field.containing_type.name}.{field.name}"


VALID: Final[dict[str, tuple[Fill, ...]]] = {**ROWS, **FIELDS, **CONSTRAINTS}
"""Ways to fill each field of a snapshot with elements that are valid, up to fixed limits."""


def cases() -> Iterator[Case]:
    """All cases."""
    for field, fills in VALID.items():
        for number, fill in enumerate(fills):
            yield Case(field, f"valid {number}", _state_calls(fill))
    yield from _other_cases()
    yield from generated_cases()


PUSH: Final[Call] = ("PutSnapshot", [])
"""The first call of every case, with the base snapshot."""


def _state_calls(fill: Fill) -> Callable[[int], list[Call]]:
    """Add everything to a state with one delta, send it again, remove the pods, push it; a decision on each.

    The last one is on the same snapshot without a state.
    """

    def calls(count: int) -> list[Call]:
        filled = base_snapshot()
        fill(filled, count)
        kept = {row.uid for row in base_snapshot().pods}
        gone = [
            uid for uid in (*(row.uid for row in filled.pods), *filled.pod_columns.uid) if uid not in kept
        ]
        nothing = pb.ClusterSnapshot()
        return [
            PUSH,
            ("ApplyDelta", [state_pb2.ApplyDeltaRequest(delta=delta(filled))]),
            ("Decide", [DecideRequest(state=reference(2))]),
            ("Decide", [DecideRequest(delta=delta(filled, 2))]),
            ("Decide", [DecideRequest(delta=delta(nothing, 3, state_pb2.StateKeys(pods=gone)))]),
            ("PutSnapshot", [full_push(filled, f"{EPOCH} 2")]),
            ("GetState", [state_pb2.GetStateRequest(cluster_id="c")]),
            ("Decide", [DecideRequest(snapshot=filled)]),
        ]

    return calls


def reference(version: int) -> state_pb2.StateReference:
    """Reference to a version of the pushed state."""
    return state_pb2.StateReference(cluster_id="c", epoch=EPOCH, version=version)


def full_push(snapshot: pb.ClusterSnapshot, epoch: int = EPOCH) -> state_pb2.PutSnapshotRequest:
    """The only chunk of a push."""
    return state_pb2.PutSnapshotRequest(epoch=epoch, chunk=snapshot, last_chunk=True)


def delta(
    upserts: pb.ClusterSnapshot, base: int = 1, removals: state_pb2.StateKeys | None = None
) -> state_pb2.StateDelta:
    """Delta on a version of the pushed state, with the rows of a snapshot."""
    now, rows = {"seconds": 1_700_000_000}, pb.ClusterSnapshot()
    rows.CopyFrom(upserts)
    for field in HEADER:
        rows.ClearField(field)
    return state_pb2.StateDelta(
        base=reference(base), version=base + 1, now=now, upserts=rows, removals=removals
    )


def _other_cases() -> Iterator[Case]:
    """Valid requests that are not about rows of a snapshot."""

    def actions(count: int) -> list[Call]:
        return [PUSH, ("Decide", [DecideRequest(snapshot=base_snapshot(), actions=["allocate"] * count)])]

    def simulated(count: int) -> list[Call]:
        request = simulate_pb2.SimulateRequest(snapshot=base_snapshot(), actions=["allocate"] * count)
        return [PUSH, ("Simulate", [request])]

    def report(count: int) -> list[Call]:
        request = report_pb2.ReportResultsRequest(cluster_id="c", now=TIME)
        group = request.groups.add(group={"id": "g"})
        for i in range(count):
            group.group.decisions.add(id=f"e{i}", evict={"pod": f"p{i}", "pod_group": "v"})
            patch = {"pod_group": "v", "set_eviction_record": {"victim": "v", "preemptor": f"w{i}"}}
            group.group.decisions.add(id=f"p{i}", patch=patch)
            group.group.decisions.add(id=f"s{i}", patch={"pod_group": f"w{i}", "last_start_time": TIME})
            group.group.decisions.add(id=f"b{i}", bind={"pod": f"w{i}"})
            group.results.add(decision_id=f"e{i}", status=report_pb2.APPLY_STATUS_FAILED)
            group.eviction_history.add(victim="v", preemptor=f"w{i}", last_eviction_time=TIME)
        return [PUSH, ("ReportResults", [request])]

    def reports(count: int) -> list[Call]:
        request = report_pb2.ReportResultsRequest(cluster_id="c", now=TIME)
        for i in range(count):
            decision = decision_pb2.Decision(id="e", evict={"pod": "p", "pod_group": "v"})
            result = {"decision_id": "e", "status": report_pb2.APPLY_STATUS_APPLIED}
            request.groups.add(group={"id": f"g{i}", "decisions": [decision]}, results=[result])
        return [PUSH, ("ReportResults", [request])]

    yield Case("DecideRequest.actions", "valid", actions)
    yield Case("SimulateRequest.actions", "valid", simulated)
    yield Case("DecisionGroup.decisions", "valid", report)
    yield Case("ReportResultsRequest.groups", "valid", reports)


COMPLETE: Final = (("Decide", "snapshot"), ("ApplyDelta", "delta"), ("ReportResults", "groups"))
"""Methods and fields of their requests below which each field is filled in every way."""
_SHORT: Final = 3
"""Length of the paths to rows and keys; the messages below them are the same for all methods."""


def generated_cases() -> Iterator[Case]:
    """Every repeated field of every request, filled by its descriptor."""
    for method, message in request_types().items():
        for path in repeated_paths(message):
            where = ".".join(field.name for field in path)
            is_complete = (method, path[0].name) in COMPLETE
            for kind in ("empty", "equal", "distinct") if is_complete else ("distinct",):
                if is_complete or len(path) <= _SHORT:
                    yield Case(
                        field_name(path[-1]), f"{kind}, {method} {where}", _generated(method, path, kind)
                    )


def _generated(method: str, path: Path, kind: str) -> Callable[[int], list[Call]]:
    def make(count: int) -> list[Call]:
        request = _template(method, path[0].name)
        _fill(request, path, kind, count)
        return [PUSH, (method, [request])]

    return make


def _template(method: str, field: str) -> Message:
    """A valid request with rows, for the field that is filled."""
    match method, field:
        case "Decide", "delta":
            return DecideRequest(delta=delta(base_snapshot()))
        case "Decide", _:
            return DecideRequest(snapshot=base_snapshot())
        case "ApplyDelta", _:
            return state_pb2.ApplyDeltaRequest(delta=delta(base_snapshot()))
        case "SyncState", _:
            return state_pb2.SyncStateRequest(nonce="n", delta=delta(base_snapshot()))
        case "PutSnapshot", _:
            return full_push(base_snapshot())
        case "Simulate", _:
            return simulate_pb2.SimulateRequest(snapshot=base_snapshot())
        case "Explain", _:
            return ExplainRequest(snapshot=base_snapshot(), protected_until={"pod_group": "g"})
    request = report_pb2.ReportResultsRequest(cluster_id="c", now=TIME)
    request.groups.add(group={"id": "g", "decisions": [{"id": "d"}]})
    return request


def _fill(message: Any, path: Path, kind: str, count: int) -> None:
    """Fill the last field of the path in the first row of every list on the way."""
    for field in path[:-1]:
        value = getattr(message, field.name)
        if field.is_repeated:
            message = value[0] if value else value.add()
        else:
            message = value
            message.SetInParent()
    field, values = path[-1], getattr(message, path[-1].name)
    inner = field.message_type
    for i in range(count):
        text = {"empty": "", "equal": "x", "distinct": f"x{i}"}[kind]
        if inner is not None and inner.GetOptions().map_entry:
            number = inner.fields_by_name["value"].type != FieldDescriptor.TYPE_STRING
            values[f"x{i}"] = len(text) if number else text
        elif inner is not None:
            row = values.add()
            for part in inner.fields if text else ():
                if (
                    part.type == FieldDescriptor.TYPE_STRING
                    and not part.is_repeated
                    and not part.containing_oneof
                ):
                    setattr(row, part.name, text)
        elif field.type == FieldDescriptor.TYPE_STRING:
            values.append(text)
        elif field.type == FieldDescriptor.TYPE_ENUM:
            values.append(len(text) % 2)
        else:
            values.append({"empty": 0, "equal": 1, "distinct": i}[kind])
