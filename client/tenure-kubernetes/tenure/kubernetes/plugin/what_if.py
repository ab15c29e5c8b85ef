"""`kubectl tenure what-if`: would a manifest start, where, and who would be evicted for it.

The API server completes the objects by a dry run, with the rights of the user: nothing is created. Pods of
a controller are made from its template. Rows come from the code of the adapter.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import msgspec
import typer
import yaml
from google.protobuf.json_format import Parse
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.snapshot_file import Format, write_snapshot
from tenure.kubernetes.api.api_errors import Conflict
from tenure.kubernetes.objects import kai, native, volcano
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.owners.owner_object import read_owner
from tenure.kubernetes.plugin.access import KubeApi, find_resource
from tenure.kubernetes.plugin.operator_view import ClusterView
from tenure.render.forecast import LostPod, forecast
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.simulate_pb2 import SimulateResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.timestamps import timestamp
from tenure.wire.yaml_limits import limit_events

Object = dict[str, Any]
_REPLICAS: Final = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
SUPPORTED: Final = ("Pod", "PodGroup", "Job", "CronJob", *_REPLICAS)
_MOST_PODS: Final = 10_000
_HINT: Final = "FILE"


class PodGroupForecast(NamedTuple):
    """What would happen to a pod group of the manifest, by names."""

    namespace: str
    name: str
    starts: str
    """now, later (when other pods have terminated) or no."""
    reason: str
    nodes: tuple[str, ...]
    evicted: tuple[dict[str, str], ...]
    """Pods that would be evicted for it: namespace, pod group and pod; with notice also evict_time, in
    RFC 3339.
    """


def read_manifest(file: str) -> list[Object]:
    """Objects of a file; - reads standard input. Raises typer.BadParameter."""
    try:
        text = typer.get_text_stream("stdin").read() if file == "-" else Path(file).read_text("utf-8")
        for _ in limit_events(yaml.parse(text)):
            pass
        documents = [one for one in yaml.safe_load_all(text) if one]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint=_HINT) from None
    found: list[Object] = []
    for one in documents:
        found.extend(one.get("items", []) if isinstance(one, dict) and one.get("kind") == "List" else [one])
    for one in found:
        kind = one.get("kind") if isinstance(one, dict) else None
        if kind not in SUPPORTED:
            known = ", ".join(SUPPORTED)
            raise typer.BadParameter(f"{file}: kind {kind!r} is not one of {known}", param_hint=_HINT)
    if not found:
        raise typer.BadParameter(f"{file}: no objects", param_hint=_HINT)
    return found


def forecasts(api: KubeApi, view: ClusterView, objects: list[Object]) -> list[PodGroupForecast]:
    """Forecasts of the pod groups of a manifest. Raises ApiError."""
    for item in objects:
        _add(api, view, item)
    now = Timestamp()
    now.CopyFrom(view.snapshot.now)
    upserts = view.builder.delta(now).upserts
    if not upserts.pods:
        name = view.settings.scheduler_name
        raise typer.BadParameter(f"no pod has the schedulerName {name!r} and a queue", param_hint=_HINT)
    file = view.folder / "added.binpb"
    write_snapshot(upserts, str(file), Format.BINARY)
    in_force = [option.replace("--config", "--in-force") for option in view.config]
    text = view.tenure("simulate", str(view.file), "--with", str(file), *in_force, "--output", "json")
    cycle = Parse(text, SimulateResponse()).cycles[0]
    new = {row.uid for row in upserts.pod_groups}
    return [_forecast(cycle, view.snapshot, upserts, uid) for uid in sorted(new)]


def _add(api: KubeApi, view: ClusterView, item: Object) -> None:
    """Complete an object and its pods, and add them to what was read of the cluster."""
    made = _complete(api, item)
    kind, content = made["kind"], msgspec.json.encode(made)
    if kind == "PodGroup" and made["apiVersion"].startswith("scheduling.run.ai/"):
        view.caches.kai_pod_groups.on_change(msgspec.json.decode(content, type=kai.PodGroup))
    elif kind == "PodGroup" and made["apiVersion"] in native.VERSIONS:
        view.caches.native_pod_groups.on_change(msgspec.json.decode(content, type=native.PodGroup))
    elif kind == "PodGroup":
        view.caches.volcano_pod_groups.on_change(msgspec.json.decode(content, type=volcano.PodGroup))
    elif kind == "Pod":
        view.caches.pods.on_change(msgspec.json.decode(content, type=Pod))
    else:
        draft = read_owner(content, view.owners.kinds.of(made["apiVersion"], kind))
        if draft is not None:
            view.owners.drafts[made["metadata"]["uid"]] = draft
        for pod in _pods(api, made):
            view.caches.pods.on_change(msgspec.json.decode(msgspec.json.encode(pod), type=Pod))


def _complete(api: KubeApi, item: Object) -> Object:
    """The object as the API server would store it. Raises ApiError."""
    meta = item.setdefault("metadata", {})
    namespace = meta.setdefault("namespace", api.namespace)
    group = str(item.get("apiVersion", "")).rpartition("/")[0]
    kind = item["kind"].lower()
    version, resource = find_resource(api, f"{kind}.{group}" if kind == "podgroup" and group else kind)
    version = item.setdefault("apiVersion", version)
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{base}/namespaces/{quote(namespace, safe='')}/{resource}"
    try:
        answer = api.transport.post(path, item, {"dryRun": "All"})
    except Conflict:
        name = f"{item['kind']} {namespace}/{meta.get('name', '')}"
        text = f"{name} exists; kubectl tenure why explains it. To ask about a copy, change the name"
        raise typer.BadParameter(text, param_hint=_HINT) from None
    made: Object = msgspec.json.decode(answer)
    return {"apiVersion": version, "kind": item["kind"], **made}


def _pods(api: KubeApi, owner: Object) -> Iterator[Object]:
    """Pods that the controller of an object would create. Raises ApiError."""
    spec = owner["spec"]
    if owner["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    if owner["kind"] in _REPLICAS:
        count = spec.get("replicas", 1)
    else:
        count = min(spec.get("parallelism", 1), spec.get("completions") or spec.get("parallelism", 1))
    meta, template = owner["metadata"], copy.deepcopy(spec["template"])
    reference = {key: meta[key] for key in ("name", "uid")}
    reference |= {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    head = {
        **template.get("metadata", {}),
        "generateName": f"{meta['name']}-",
        "namespace": meta["namespace"],
    }
    head["ownerReferences"] = [reference]
    draft = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": template["spec"]}
    first = _complete(api, draft) if count else {}
    for number in range(min(count, _MOST_PODS)):
        pod = copy.deepcopy(first)
        pod["metadata"] |= {"uid": str(uuid4()), "name": f"{meta['name']}-{number}"}
        yield pod


def _forecast(
    cycle: DecideResponse, snapshot: ClusterSnapshot, upserts: ClusterSnapshot, uid: str
) -> PodGroupForecast:
    groups = {row.uid: row for row in (*snapshot.pod_groups, *upserts.pod_groups)}
    pods = {row.uid: row for row in snapshot.pods}
    found = forecast(cycle, uid, {row.uid for row in upserts.pods if row.pod_group == uid})
    row = groups[uid]
    evicted = tuple([_victim(lost, groups, pods) for lost in found.losses])
    nodes = tuple(sorted(set(found.nodes)))
    return PodGroupForecast(
        row.namespace, row.name, found.starts, found.outcome.reason.message, nodes, evicted
    )


def _victim(lost: LostPod, groups: Mapping[str, Any], pods: Mapping[str, Any]) -> dict[str, str]:
    group, pod = groups.get(lost.pod_group), pods.get(lost.pod)
    named = {
        "namespace": group.namespace if group else "",
        "pod_group": group.name if group else lost.pod_group,
        "pod": pod.name if pod else lost.pod,
    }
    end = {"evict_time": timestamp(lost.evict_time).ToJsonString()} if lost.evict_time else {}
    return named | end


def forecast_text(one: PodGroupForecast) -> str:
    """A forecast in words."""
    head = f"Pod group {one.namespace}/{one.name}"
    if one.starts == "no":
        return f"{head} would not start. {one.reason}"
    where = ", ".join(one.nodes)
    if one.starts == "now":
        text = f"{head} would start now, on {where}."
    else:
        text = f"{head} would start on {where} when other pods have terminated."
    counts = Counter((f"{v['namespace']}/{v['pod_group']}", v.get("evict_time", "")) for v in one.evicted)
    for (name, end), number in sorted(counts.items()):
        after = f" at {end}, after notice" if end else ""
        text += f"\n  evicted for it{after}: {number} {'pod' if number == 1 else 'pods'} of {name}"
    return text
