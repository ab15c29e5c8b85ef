"""What `make cluster` prints when the cluster runs: how to use it."""

import os
import sys
from pathlib import Path
from typing import Final

from tests.cluster.whole_cluster import EmptyCluster, WholeCluster
from tests.kubernetes.environment.binaries import ROOT
from tests.kubernetes.environment.components import STAGES

SAMPLES: Final = Path(__file__).with_name("samples")
_CACHE: Final = ROOT / ".cache"
_KUBECTL: Final = """\
kubectl get nodes,queues.scheduling.run.ai
kubectl get pods -o wide
kubectl describe pod POD        # why it waits
kubectl get events --field-selector reason=Evicted"""
_NO_KUBECTL: Final = "# kubectl is not installed; with it you see pods, queues and events"


def guide(cluster: WholeCluster, has_kubectl: bool) -> str:
    """The commands that show the cluster, for a shell in the current folder."""
    python, tenure = _short(Path(sys.executable)), _short(Path(sys.executable).with_name("tenure"))
    config = cluster.plane.kubeconfig()
    state = f"--server {cluster.tenure.address} --cluster-id {cluster.tenure.cluster_id}"
    workloads = f"{tenure} workloads {state}"
    create = "kubectl apply -f" if has_kubectl else f"{python} -m tests.cluster apply"
    return f"""
The cluster runs. In another terminal, in the same folder:

export KUBECONFIG={_short(config)}
{_KUBECTL if has_kubectl else _NO_KUBECTL}
{workloads}

To watch a reclaim: all GPUs are in use, and the queue serving is below its quota. Start four more of its
pods. Four pods of the job sweep are evicted for them, and the protected job nightly stays. The job replaces
its pods after ten seconds; the new ones wait, for a reason:

{create} {_short(SAMPLES / "reclaim.yaml")}
{workloads}
{tenure} capture cluster.binpb
{tenure} explain cluster.binpb why-pending sweep

Pods are simulated: they start and end, and run nothing.
Samples: {_short(SAMPLES)}
What pods and nodes do, by annotations: {_short(STAGES)}
Logs: {_short(config.parent)}/*.log

Ctrl-C stops the cluster. The next run begins with an empty one.
"""


def guide_empty(cluster: EmptyCluster) -> str:
    """How to use a cluster to which Tenure is yet to be installed, for a shell in any folder."""
    config = cluster.plane.kubeconfig()
    programs = (_CACHE / "kubectl/bin", _CACHE / "helm/bin", Path(sys.executable).parent)
    return f"""
The cluster runs, without GPUs, Tenure and workloads. In another terminal:

export KUBECONFIG={config.absolute()}
export PATH="{":".join(map(str, programs))}:$PATH"

Then follow docs/get-started/kubernetes.md. Pods are simulated: they start and end, and run nothing. Those of
Tenure are processes of this checkout, whatever their image; logs: {_short(config.parent)}/pods

Ctrl-C stops the cluster. The next run begins with an empty one.
"""


def _short(path: Path) -> str:
    """The path from the current folder where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
