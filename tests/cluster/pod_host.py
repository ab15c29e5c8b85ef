"""Runs the containers of Tenure's pods as processes of this checkout, as their kubelet would.

The pods are those that the chart's Deployment creates and kube-scheduler assigns. Paths of volumes become
folders, ports become free ones, and the token of the service account a kubeconfig.
"""

import json
import re
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import grpc
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.child_processes import Program, free_port
from tests.kubernetes.environment.control_plane import ControlPlane, account_token
from tests.small_snapshot import child_environment

_OF_TENURE: Final = {"labelSelector": "app.kubernetes.io/name=tenure"}
_LOOK_SECONDS: Final = 0.3
_PROBE_SECONDS: Final = 5.0
_SERVING: Final = b"\x08\x01"
"""A HealthCheckResponse of gRPC with the status SERVING."""
_ADDRESS: Final = re.compile(r"\b(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)")
Object = dict[str, Any]


class HostedPod:
    """The processes of one pod. Its init containers stay and run beside the others."""

    def __init__(
        self, pod: Object, folder: Path, config: Path, texts: Mapping[str, Mapping[str, str]]
    ) -> None:
        """`config` is a kubeconfig of its service account; `texts` are its ConfigMaps by name."""
        self._spec, self._folder, self._config = pod["spec"], folder, config
        self._ports: dict[str, int] = {}
        self.containers: dict[str, list[Object]] = {
            "initContainerStatuses": self._spec.get("initContainers", []),
            "containerStatuses": self._spec["containers"],
        }
        """Containers in the order of their start, by the field of their statuses."""
        self._programs: dict[str, Program] = {}
        self._paths: dict[str, Path] = {}
        """Folders by path in a container."""
        for container in self._in_order():
            for mount in container.get("volumeMounts", ()):
                self._paths[mount["mountPath"]] = folder / mount["name"]
        for volume in self._spec["volumes"]:
            place = folder / volume["name"]
            place.mkdir(parents=True)
            for name, text in texts.get(volume.get("configMap", {}).get("name", ""), {}).items():
                (place / name).write_text(self._localized(text))

    def run_on(self) -> bool:
        """Start what does not run, each after the earlier ones are ready. Returns whether all are ready."""
        for container in self._in_order():
            program = self._programs.get(container["name"])
            if program is None or program.has_ended:
                self._programs[container["name"]] = self._start(container)
            if not self._is_ready(container["readinessProbe"]):
                return False
        return True

    def end(self) -> None:
        """Stop the processes in reverse order, each with the grace period of the pod."""
        for program in reversed(self._programs.values()):
            program.terminate(self._spec["terminationGracePeriodSeconds"])

    def kill(self) -> None:
        """Kill the processes."""
        for program in self._programs.values():
            program.kill()

    def _in_order(self) -> Iterator[Object]:
        return chain.from_iterable(self.containers.values())

    def _start(self, container: Object) -> Program:
        arguments = [self._localized(word) for word in container["args"]]
        if any(mount["name"] == "account" for mount in container.get("volumeMounts", ())):
            arguments += ["--kubeconfig", str(self._config)]
        variables = {one["name"]: one["value"] for one in container.get("env", ())}
        log = self._folder / f"{container['name']}.log"
        command = (sys.executable, "-m", "tenure.cli", *arguments)
        return Program(log, *command, env=child_environment(**variables))

    def _localized(self, text: str) -> str:
        for inside, outside in self._paths.items():
            text = text.replace(f"{inside}/", f"{outside}/")
        return _ADDRESS.sub(lambda found: f"127.0.0.1:{self._port(found[1])}", text)

    def _port(self, inside: str) -> int:
        return self._ports.setdefault(inside, free_port())

    def _is_ready(self, probe: Object) -> bool:
        if "grpc" in probe:
            return _is_serving(self._port(str(probe["grpc"]["port"])))
        ports = {port["name"]: port["containerPort"] for one in self._in_order() for port in one["ports"]}
        wanted = probe["httpGet"]
        return _responds(f"http://127.0.0.1:{self._port(str(ports[wanted['port']]))}{wanted['path']}")


class PodHost:
    """Runs the pods of Tenure until stopped, and tells the API server how they are."""

    def __init__(self, plane: ControlPlane, admin: Transport, folder: Path) -> None:
        self._plane, self._admin, self._folder = plane, admin, folder
        self._hosted: dict[str, HostedPod] = {}
        """Pods by uid."""
        self._ready: dict[str, bool] = {}
        """What was told last, by uid."""
        self._stopped = threading.Event()

    def run(self) -> None:
        """Look at the pods until stopped, then kill what runs."""
        while not self._stopped.wait(_LOOK_SECONDS):
            with suppress(ApiError):  # the next look finds the pods as they are then
                self._look_once()
        for hosted in self._hosted.values():
            hosted.kill()

    def stop(self) -> None:
        """End `run`."""
        self._stopped.set()

    def _look_once(self) -> None:
        pods = json.loads(self._admin.get("/api/v1/pods", _OF_TENURE))["items"]
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if "deletionTimestamp" in pod["metadata"]:
                self._end(pod)
            elif pod["spec"].get("nodeName"):
                hosted = self._hosted.get(uid) or self._host(pod)
                self._tell(pod, hosted, hosted.run_on())
        for uid in self._hosted.keys() - {pod["metadata"]["uid"] for pod in pods}:
            self._hosted.pop(uid).kill()

    def _host(self, pod: Object) -> HostedPod:
        meta, spec = pod["metadata"], pod["spec"]
        space = meta["namespace"]
        maps = json.loads(self._admin.get(f"/api/v1/namespaces/{space}/configmaps"))["items"]
        texts = {item["metadata"]["name"]: item.get("data", {}) for item in maps}
        config = self._plane.kubeconfig(account_token(self._admin, space, spec["serviceAccountName"]))
        made = HostedPod(pod, self._folder / meta["name"], config, texts)
        self._hosted[meta["uid"]] = made
        return made

    def _tell(self, pod: Object, hosted: HostedPod, is_ready: bool) -> None:
        uid, since = pod["metadata"]["uid"], pod["metadata"]["creationTimestamp"]
        if self._ready.get(uid) == is_ready:
            return
        values = {"Initialized": True, "ContainersReady": is_ready, "Ready": is_ready}
        told = [one for one in pod["status"].get("conditions", ()) if one["type"] not in values]
        told += [{"type": name, "status": str(value)} for name, value in values.items()]
        state = {
            "ready": is_ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": since}},
        }
        status: Object = {"phase": "Running", "startTime": since, "conditions": told}
        for field, containers in hosted.containers.items():
            status[field] = [{**state, "name": one["name"], "image": one["image"]} for one in containers]
        self._admin.patch(f"{_path(pod)}/status", {"status": status}, MERGE_PATCH)
        self._ready[uid] = is_ready

    def _end(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._hosted:
            self._hosted.pop(uid).end()
        self._admin.delete(_path(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})


@contextmanager
def host_tenure_pods(plane: ControlPlane, admin: Transport, folder: Path) -> Iterator[None]:
    """Host the pods of Tenure until the end of the context."""
    host = PodHost(plane, admin, folder)
    thread = threading.Thread(target=host.run)
    thread.start()
    try:
        yield
    finally:
        host.stop()
        thread.join()


def _path(pod: Object) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


def _responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PROBE_SECONDS) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _is_serving(port: int) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        check: Callable[..., bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            return check(b"", timeout=_PROBE_SECONDS) == _SERVING
        except grpc.RpcError:
            return False
