"""The check `kubelet`: the pods of docker/manifests under a real kubelet, with the image of `make image`.

The kubelet, containerd and the pods run in namespaces of their own, beside a real API server, its controllers
and kube-scheduler. The adapter binds and evicts pods that run on the same node.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.checks import CannotRun, Counts
from tests.child_processes import Program
from tests.cluster.tenure_deployment import NAMESPACE
from tests.cluster.whole_cluster import run_empty_cluster
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.binaries import find_cluster
from tests.kubernetes.environment.control_plane import StartFailed
from tests.kubernetes.environment.manifests import create, read_manifests
from tests.packaging.image import built_image, save_image
from tests.packaging.real_node import (
    CGROUP,
    HIERARCHIES,
    NAME,
    NETWORK_PLUGINS,
    PAUSE,
    make_loopback,
    run_real_node,
)
from tests.tools.tool import ROOT

_WAITS: Final = ["python3", "-c", "import signal; signal.pause()"]
_ISOLATED: Final = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_REPLICAS: Final = 2
_CONTAINERS: Final = 2
"""Server and adapter."""
_START_SECONDS: Final = 120
_GRACE_SECONDS: Final = 2
_NOT_STARTED: Final = 3
"""Exit status of the process in the namespaces."""
_GPU: Final = "nvidia.com/gpu"
_GPUS: Final = 2
"""Of the node: devices that nothing checks."""
_MANIFESTS: Final = (ROOT / "docker/manifests/namespace.yaml", ROOT / "docker/manifests/tenure.yaml")


def main() -> Counts:
    """Run the cases in namespaces of their own. Raises CannotRun without root, the image or programs."""
    image = built_image()["image"]
    needed = [name for name in ("runc", "iptables", "ip", "unshare") if shutil.which(name) is None]
    if needed or not NETWORK_PLUGINS.is_dir():
        packages = "runc containernetworking-plugins iptables iproute2 util-linux"
        raise CannotRun(
            f"a kubelet needs {', '.join(needed) or 'network plugins'}: apt-get install {packages}"
        )
    with TemporaryDirectory() as folder, _control_groups():
        _save_images(Path(folder), image)
        command = [*_ISOLATED, sys.executable, "-m", "tests.packaging.kubelet", folder, image]
        ended = subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    *lines, last = ended.stdout.splitlines() or [""]
    print("\n".join(lines))
    if ended.returncode == _NOT_STARTED:
        raise CannotRun(f"the cluster does not start here: {last}")
    return Counts(*json.loads(last)) if ended.returncode == 0 else Counts(0, 1)


@contextmanager
def _control_groups() -> Iterator[None]:
    """The parents of all control groups of the node; at the end they are removed with what is in them."""
    hierarchies = [HIERARCHIES] if (HIERARCHIES / "cgroup.procs").exists() else [*HIERARCHIES.iterdir()]
    folders = [each / CGROUP for each in hierarchies if each.is_dir() and not each.is_symlink()]
    for folder in folders:
        folder.mkdir(exist_ok=True)  # an earlier run may have been killed
    try:
        yield
    finally:
        for folder in folders:
            for path, _, _ in os.walk(folder, topdown=False):
                wait_until(lambda path=path: _is_removed(path))  # type: ignore[misc]


def _is_removed(path: str) -> bool:
    """Remove a control group, unless a process is still in it."""
    try:
        Path(path).rmdir()
    except OSError:
        return False
    return True


def _save_images(folder: Path, image: str) -> None:
    """Archives of Tenure's image, and of one that only waits."""

    def buildah(*arguments: str) -> str:
        command, out = ["buildah", *arguments], subprocess.PIPE
        return subprocess.run(command, check=True, stdout=out, text=True).stdout.strip()

    working = buildah("from", "--pull-never", image)
    buildah("config", "--cmd", "", "--entrypoint", json.dumps(_WAITS), working)
    buildah("commit", "--quiet", "--rm", working, PAUSE)
    for number, name in enumerate((image, PAUSE)):
        save_image(name, folder / f"{number}.tar")


def _run_cases(folder: Path, image: str) -> Counts:
    binaries = find_cluster()
    assert binaries is not None
    failed = 0
    make_loopback()
    with (
        run_empty_cluster(binaries, folder, "--bind-address=0.0.0.0") as (plane, admin, _),
        run_real_node(plane, folder, sorted(folder.glob("*.tar"))) as kubelet,
    ):
        _install(admin, image)
        cluster = UserCluster(admin, "team")
        cluster.priorities(low=10, high=90)
        cluster.queue("q")
        cases = (
            _pods_become_ready,
            _gang_runs,
            _gang_of_higher_priority_replaces_it,
            _leader_ends_in_order,
            _next_leader_goes_on,
        )
        for case in cases:
            try:
                case(cluster)
            except (ApiError, AssertionError) as problem:
                failed += 1
                print(f"{case.__name__.strip('_')}: {problem}\n{_state(cluster, kubelet)}")
    return Counts(len(cases) - failed, failed)


def _install(admin: Transport, image: str) -> None:
    """Create what the manifests contain, with the name of the image that is on the node."""
    for item in (each for file in _MANIFESTS for each in read_manifests(file)):
        if item["kind"] == "Deployment":
            pod = item["spec"]["template"]["spec"]
            for container in (*pod["initContainers"], *pod["containers"]):
                container["image"] = image
        create(admin, item)


def _pods_of_tenure(admin: Transport) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(admin.get(f"/api/v1/namespaces/{NAMESPACE}/pods"))["items"]
    return found


def _containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    status = pod["status"]
    return [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]


def _are_ready(admin: Transport) -> bool:
    pods = [pod for pod in _pods_of_tenure(admin) if "deletionTimestamp" not in pod["metadata"]]
    states = [each for pod in pods for each in _containers(pod)]
    return (
        len(pods) == _REPLICAS
        and len(states) == _CONTAINERS * _REPLICAS
        and all(each["ready"] for each in states)
    )


def _gang(cluster: UserCluster, name: str, priority: str = "low") -> None:
    """A pod group whose pods take all GPUs of the real node and wait for their end."""
    cluster.workload(name, 0, 0, priority=priority, minMember=_GPUS)
    container = {"name": "main", "image": PAUSE, "resources": {"limits": {_GPU: "1"}}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": _GRACE_SECONDS}
    meta = {"annotations": {"pod-group-name": name}, "labels": {"app": name}}
    for number in range(_GPUS):
        cluster.pod(f"{name}-{number}", 0, spec=spec, **meta)


def _pods_become_ready(cluster: UserCluster) -> None:
    wait_until(lambda: _are_ready(cluster.transport), _START_SECONDS)
    states = [each for pod in _pods_of_tenure(cluster.transport) for each in _containers(pod)]
    assert [each["restartCount"] for each in states] == [0] * len(states)


def _gang_runs(cluster: UserCluster) -> None:
    amounts = {_GPU: str(_GPUS)}
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    cluster.transport.patch(f"/api/v1/nodes/{NAME}/status", status, MERGE_PATCH)
    _gang(cluster, "low")
    wait_until(lambda: cluster.running("low") == _GPUS)


def _gang_of_higher_priority_replaces_it(cluster: UserCluster) -> None:
    _gang(cluster, "high", "high")
    wait_until(lambda: cluster.running("high") == _GPUS)
    assert not cluster.pods("low")


def _leader_ends_in_order(cluster: UserCluster) -> None:
    """Both containers exit with status 0. The finalizer keeps the pod until that was read."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{_leader(cluster.transport)}"
    cluster.transport.patch(path, {"metadata": {"finalizers": ["tenure.test/keep"]}}, MERGE_PATCH)
    cluster.transport.delete(path)

    def ends() -> list[int]:
        states = [each["state"] for each in _containers(json.loads(cluster.transport.get(path)))]
        return [each["terminated"]["exitCode"] for each in states if "terminated" in each]

    wait_until(lambda: len(ends()) == _CONTAINERS, _START_SECONDS)
    assert ends() == [0] * _CONTAINERS
    cluster.transport.patch(path, {"metadata": {"finalizers": None}}, MERGE_PATCH)


def _next_leader_goes_on(cluster: UserCluster) -> None:
    cluster.end("high")
    _gang(cluster, "later")
    wait_until(lambda: cluster.running("later") == _GPUS)
    wait_until(lambda: _are_ready(cluster.transport), _START_SECONDS)


def _leader(admin: Transport) -> str:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    (holder,) = {item["spec"]["holderIdentity"] for item in json.loads(admin.get(path))["items"]}
    (name,) = (pod["metadata"]["name"] for pod in _pods_of_tenure(admin) if pod["metadata"]["name"] in holder)
    return str(name)


def _state(cluster: UserCluster, kubelet: Program) -> str:
    """What helps to find out why a case failed."""
    path = f"/api/v1/namespaces/{NAMESPACE}/events"
    events = [item.get("message", "") for item in json.loads(cluster.transport.get(path))["items"]]
    pods = [json.dumps(pod["status"]) for pod in _pods_of_tenure(cluster.transport)]
    return "\n".join([*pods, *events[-20:], kubelet.output])


if __name__ == "__main__":
    try:
        print(json.dumps(_run_cases(Path(sys.argv[1]), sys.argv[2])))
    except StartFailed as failure:
        print(failure)
        sys.exit(_NOT_STARTED)
