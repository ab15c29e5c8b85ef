"""Workloads of a namespace as their objects describe them: what their owner may see, and no other names.

A workload is a pod group, or pods that Tenure groups by their owner.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.text import Text
from tenure.kubernetes.apply.conditions import NATIVE_CONDITIONS, SCHEDULED, UNSCHEDULABLE
from tenure.kubernetes.objects import names, native
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.wishes import (
    Place,
    annotations_of,
    preemptibility_of,
    queue_of,
    queue_of_workload,
)
from tenure.kubernetes.plugin.access import KubeApi, connect
from tenure.kubernetes.plugin.owners import Owners
from tenure.kubernetes.rows.pods import ENDED
from tenure.render.table_section import TableColumn, empty_table
from tenure.render.workload import mode_label

SCHEDULER: Final = "kai-scheduler"
"""schedulerName of pods that are shown by default."""
Item = Mapping[str, Any]
_KAI, _VOLCANO = "scheduling.run.ai/v2alpha2", "scheduling.volcano.sh/v1beta1"
_GROUP_NAMES: Final = (names.KAI_POD_GROUP, *names.VOLCANO_POD_GROUPS)
_CONDITIONS: Final = (SCHEDULED, UNSCHEDULABLE, *NATIVE_CONDITIONS)
_ANNOTATIONS: Final = {
    "last_start": names.LAST_START,
    "last_eviction": names.LAST_EVICTION,
    "requeue_not_before": names.REQUEUE_NOT_BEFORE,
    "eviction_count": names.EVICTION_COUNT,
    "total_eviction_wait": names.TOTAL_EVICTION_WAIT,
    "evictions_without_progress": names.EVICTIONS_WITHOUT_PROGRESS,
    "held_by": names.HELD_BY,
    "on_evict": names.ON_EVICT,
    "evictions": names.EVICTIONS,
    "last_checkpoint": names.LAST_CHECKPOINT,
    "eviction_cost": names.EVICTION_COST,
    "expected_runtime": names.EXPECTED_RUNTIME,
    "min_runtime": names.MIN_RUNTIME,
}
"""What is shown of annotations, by key of the JSON output."""


class WorkloadObjects(NamedTuple):
    """A pod group, or pods of one owner, as their objects describe them."""

    kind: str
    """PodGroup, or the kind of the owner of its pods."""
    namespace: str
    name: str
    queue: str
    preemptibility: str
    """Effective value of what is written; "": nothing is, so that the priority decides."""
    preemptibility_source: str
    """Where it is written: field, annotation or label; priority: nowhere, so that the priority decides."""
    running: int
    pending: int
    state: str
    """Running, Pending, Partly running or Ended."""
    code: str
    """Reason code while pods are pending; "": none is written."""
    message: str
    annotations: Mapping[str, str]
    pods: tuple[str, ...]
    """Names of its pods that have not ended, in order."""
    uids: frozenset[str]
    """Uids of the pod group and of its pods."""
    evict_time: str
    """When pods with notice are evicted at the earliest, in RFC 3339; "": no pod has notice."""
    pods_with_notice: int
    notice: str
    """The sentence of the notice; "": none."""


def read_workloads(api: KubeApi, namespace: str | None, scheduler: str) -> list[WorkloadObjects]:
    """Workloads of a namespace, or of all, by namespace and name. Raises ApiError."""
    members: defaultdict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for pod in api.items("v1", "pods", namespace):
        if pod["spec"].get("schedulerName") == scheduler:
            members[_group_of(pod)].append(pod)
    found = []
    names_native = any(_native_name(pod) for pods in members.values() for pod in pods)
    for version in (_KAI, _VOLCANO, *(native.VERSIONS if names_native else ())):
        for group in api.items(version, "podgroups", namespace):
            meta = group["metadata"]
            pods = members.pop(("PodGroup", meta["namespace"], meta["name"]), [])
            if pods or version not in native.VERSIONS:
                found.append(_workload(("PodGroup", meta["namespace"], meta["name"]), group, pods))
    owners = Owners(api)
    for key, pods in members.items():
        meta = msgspec.convert(pods[0]["metadata"], ObjectMeta)
        found.append(_workload(key, None, pods, owners.places(meta.namespace, meta)))
    return sorted(found, key=lambda one: (one.namespace, one.name, one.kind))


def _group_of(pod: Item) -> tuple[str, str, str]:
    """Kind, namespace and name of the pod group of a pod, or of its owner."""
    meta = pod["metadata"]
    annotations = meta.get("annotations") or {}
    named = (annotations[key] for key in _GROUP_NAMES if annotations.get(key))
    if name := next(named, "") or _native_name(pod):
        return ("PodGroup", meta["namespace"], name)
    owner = next((one for one in meta.get("ownerReferences") or [] if one.get("controller")), None)
    if owner is None:
        return ("Pod", meta["namespace"], meta["name"])
    return (owner["kind"], meta["namespace"], owner["name"])


def _native_name(pod: Item) -> str:
    """The pod group of Kubernetes itself that a pod names; "": none."""
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or "")


def _workload(
    key: tuple[str, str, str], group: Item | None, pods: Sequence[Item], owners: Sequence[Place] = ()
) -> WorkloadObjects:
    """The workload of a pod group, or of pods; `owners` are theirs."""
    kind, namespace, name = key
    live = [pod for pod in pods if pod.get("status", {}).get("phase") not in ENDED]
    running = [pod for pod in live if pod["spec"].get("nodeName")]
    pending = len(live) - len(running)
    spec = group.get("spec", {}) if group else {}
    is_object = group is not None and "schedulingPolicy" not in spec
    declaring = [] if is_object else pods[:1]
    words = {text: value for one in (*declaring, *([group] if group else [])) for text, value in _texts(one)}
    places = [*owners, *(Place(msgspec.convert(pod["metadata"], ObjectMeta)) for pod in declaring)]
    words |= annotations_of(places)
    if group is not None:
        own = Place(msgspec.convert(group["metadata"], ObjectMeta), str(spec.get("preemptibility") or ""))
        places = [own] if is_object else [*places[: len(owners)], own, *places[len(owners) :]]
    pool = (declaring[0]["metadata"].get("labels") or {}).get(names.NODE_POOL, "") if declaring else ""
    queue = queue_of(places) if is_object else queue_of_workload(places, pool)
    written = preemptibility_of(places)
    code, message = _reason(group, live) if pending else ("", "")
    notices = sorted(filter(None, map(_notice, live)))
    uids = {one["metadata"]["uid"] for one in (*pods, *([group] if group else []))}
    return WorkloadObjects(
        kind=kind,
        namespace=namespace,
        name=name,
        queue=spec.get("queue") or queue or _first(words, names.QUEUE, names.VOLCANO_QUEUE),
        preemptibility=mode_label(written.mode),
        preemptibility_source=written.source.name.lower(),
        running=len(running),
        pending=pending,
        state=_state(len(running), pending),
        code=code,
        message=message,
        annotations={key: words[name] for key, name in _ANNOTATIONS.items() if words.get(name)},
        pods=tuple(sorted(pod["metadata"]["name"] for pod in live)),
        uids=frozenset(uids),
        evict_time=notices[0][0] if notices else "",
        pods_with_notice=len(notices),
        notice=notices[0][1] if notices else "",
    )


def _notice(pod: Item) -> tuple[str, str] | None:
    """When a pod with notice is evicted, and the sentence of its notice."""
    end = (pod["metadata"].get("annotations") or {}).get(names.EVICT_TIME)
    if not end or pod["metadata"].get("deletionTimestamp"):
        return None
    conditions = pod.get("status", {}).get("conditions") or []
    messages = (str(one.get("message", "")) for one in conditions if one.get("type") == names.EVICTION_NOTICE)
    return str(end), next(messages, "")


def _first(words: Mapping[str, str], *keys: str) -> str:
    return next((words[key] for key in keys if words.get(key)), "")


def _texts(item: Item) -> Iterator[tuple[str, str]]:
    """Labels and annotations, which precede them."""
    for key in ("labels", "annotations"):
        yield from (item["metadata"].get(key) or {}).items()


def _state(running: int, pending: int) -> str:
    if pending:
        return "Partly running" if running else "Pending"
    return "Running" if running else "Ended"


def _reason(group: Item | None, pods: Iterable[Item]) -> tuple[str, str]:
    """Code and sentence of the condition of the pod group, else of its first pending pod."""
    status = (group or {}).get("status") or {}
    for one in status.get("conditions") or []:
        is_final = one.get("type") in NATIVE_CONDITIONS and one.get("status") == "True"
        if one.get("type") in _CONDITIONS and one.get("reason") and not is_final:
            return str(one["reason"]), str(one.get("message", ""))
    for pod in pods:
        if not pod["spec"].get("nodeName"):
            for one in pod.get("status", {}).get("conditions") or []:
                if one.get("type") == "PodScheduled" and one.get("status") == "False":
                    return str(one.get("reason", "")), str(one.get("message", ""))
    return "", ""


def find_workload(workloads: Iterable[WorkloadObjects], name: str) -> WorkloadObjects | None:
    """A workload by its name, KIND/NAME, or the name of one of its pods. Pod groups come first."""
    kind, _, bare = name.rpartition("/")
    wanted = kind.partition(".")[0].lower().removesuffix("s")
    known = list(workloads)
    if wanted not in ("", "pod"):
        return next((one for one in known if one.kind.lower() == wanted and one.name == bare), None)
    named = [] if wanted == "pod" else [one for one in known if one.name == bare]
    named.sort(key=lambda one: one.kind != "PodGroup")
    return next(iter(named), None) or next((one for one in known if bare in one.pods), None)


def complete_name(context: typer.Context, incomplete: str) -> list[str]:
    """Names that begin so, of the workloads of the namespace that the options name."""
    return [one.name for one in _listed(context) if one.name.startswith(incomplete)]


def complete_target(context: typer.Context, incomplete: str) -> list[str]:
    """Workloads as KIND/NAME that complete a word of the command line."""
    found = (f"{one.kind.lower()}/{one.name}" for one in _listed(context))
    return [one for one in found if one.startswith(incomplete)]


def _listed(context: typer.Context) -> list[WorkloadObjects]:
    options = context.params
    with connect(options.get("kubeconfig"), options.get("context"), options.get("namespace")) as api:
        return read_workloads(api, api.namespace, options.get("scheduler_name") or SCHEDULER)


def print_workloads(console: Console, workloads: Sequence[WorkloadObjects], has_namespaces: bool) -> None:
    """Print a table that fits into 80 columns."""
    if not workloads:
        console.print("No workloads.")
        return
    columns = [TableColumn("Workload", wraps=True), TableColumn("Queue", wraps=True)]
    columns += [TableColumn("Preemptibility", wraps=True), TableColumn("Pods", right=True)]
    columns += [TableColumn("State", wraps=True), TableColumn("Reason", wraps=True)]
    table = empty_table(tuple(columns))
    for one in workloads:
        name = one.name if one.kind == "PodGroup" else f"{one.kind.lower()}/{one.name}"
        shown = f"{one.namespace}/{name}" if has_namespaces else name
        pods = f"{one.running}/{one.running + one.pending}"
        why = [one.code, f"evicted at {one.evict_time}" if one.evict_time else ""]
        mode = f"{one.preemptibility}\n{one.preemptibility_source}".strip()
        cells = (shown, one.queue or "-", mode, pods, one.state, "; ".join(filter(None, why)))
        table.add_row(*map(Text, cells))
    console.print(table)


def workload_json(one: WorkloadObjects) -> dict[str, Any]:
    """A workload for `--output json`."""
    row = {key: value for key, value in one._asdict().items() if key != "uids"}
    return {**row, "pods": list(one.pods)}
