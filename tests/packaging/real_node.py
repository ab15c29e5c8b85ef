"""A node of a cluster: the real kubelet with containerd and runc, in a network of its own on this machine.

Run it in network, mount and process namespaces of its own (`unshare`), with which all of it ends. It has no
registry and no network policies; the address of the API server is translated as kube-proxy does.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.child_processes import Program
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.control_plane import ControlPlane, StartFailed
from tests.tools.catalog import CONTAINERD, KUBELET

NAME: Final = "real"
CGROUP: Final = "tenure-check"
"""Name of the control groups of its pods; whoever starts the node removes them."""
HIERARCHIES: Final = Path("/sys/fs/cgroup")
NETWORK_PLUGINS: Final = Path("/usr/lib/cni")
PAUSE: Final = "localhost/tenure-pause:1"
"""Image of the process that keeps the network of a pod."""
_API_ADDRESS: Final = "10.0.0.1"
"""Of the service `kubernetes`."""
_CONTAINERD: Final = """
version = 3
root = "{folder}/containerd"
state = "{folder}/containerd-state"
[grpc]
address = "{folder}/containerd.sock"
[ttrpc]
address = "{folder}/containerd.ttrpc"
[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{pause}"
[plugins."io.containerd.cri.v1.runtime"]
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugins}"]
conf_dir = "{folder}/cni"
"""
_KUBELET: Final = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "failCgroupV1": False,
    "failSwapOn": False,
    "cgroupDriver": "cgroupfs",
    "cgroupRoot": f"/{CGROUP}",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
    "imageGCHighThresholdPercent": 100,
    "clusterDNS": ["10.0.0.10"],
    "resolvConf": "",
}
"""A full disk of this machine does not matter here."""
_PODS: Final = {
    "type": "bridge",
    "bridge": "pods",
    "isGateway": True,
    "ipam": {"type": "host-local", "subnet": "10.88.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]},
}


@contextmanager
def run_real_node(plane: ControlPlane, folder: Path, images: Sequence[Path]) -> Iterator[Program]:
    """Run a node with the images of these archives, and yield its kubelet.

    The API server has to listen on all addresses. Raises StartFailed.
    """
    _let_pods_reach(plane.port)
    containerd = _start_containerd(folder)
    address = str(folder / "containerd.sock")
    for archive in images:
        load = ("images", "import", "--local", "--snapshotter", "native", archive)
        subprocess.run(
            [CONTAINERD / "ctr", "--address", address, "--namespace", "k8s.io", *load],
            check=True,
            capture_output=True,
        )
    places = {"containerRuntimeEndpoint": f"unix://{address}", "podLogsDir": str(folder / "pod-logs")}
    config = folder / "kubelet.json"
    config.write_text(json.dumps({**_KUBELET, **places}))
    kubelet = Program(
        folder / "kubelet.log",
        KUBELET,
        f"--config={config}",
        f"--kubeconfig={plane.kubeconfig()}",
        f"--hostname-override={NAME}",
        f"--node-ip={_API_ADDRESS}",
        f"--root-dir={folder / 'kubelet'}",
        f"--cert-dir={folder / 'kubelet-certificates'}",
    )
    try:
        yield kubelet
    finally:
        kubelet.kill()
        containerd.kill()


def make_loopback() -> None:
    """Start the loopback interface of a new network, with the address of the service `kubernetes`."""
    for words in (("link", "set", "lo", "up"), ("address", "add", f"{_API_ADDRESS}/32", "dev", "lo")):
        subprocess.run(["ip", *words], check=True)


def _let_pods_reach(port: int) -> None:
    to_api = ("--destination", _API_ADDRESS, "--protocol", "tcp", "--dport", "443")
    redirect = ("--jump", "REDIRECT", "--to-ports", str(port))
    append = ("iptables", "--table", "nat", "--append", "PREROUTING")
    subprocess.run([*append, *to_api, *redirect], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _start_containerd(folder: Path) -> Program:
    plugins = [{**_PODS, "ipam": {**_PODS["ipam"], "dataDir": str(folder / "addresses")}}]  # type: ignore[dict-item]
    network = folder / "cni/pods.conflist"
    network.parent.mkdir()
    network.write_text(json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins}))
    config = folder / "containerd.toml"
    config.write_text(_CONTAINERD.format(folder=folder, pause=PAUSE, plugins=NETWORK_PLUGINS))
    path = os.pathsep.join((str(CONTAINERD), os.environ["PATH"]))
    program = Program(
        folder / "containerd.log",
        CONTAINERD / "containerd",
        f"--config={config}",
        env={**os.environ, "PATH": path},
    )
    wait_until(lambda: program.has_ended or (folder / "containerd.sock").exists())
    if program.has_ended:
        raise StartFailed(program.output)
    return program
