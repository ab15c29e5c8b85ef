"""All tools and their builds. Go sources have separate folders; builds are written to `.cache`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.checks import CannotRun
from tests.tools.tool import ROOT, Tool, is_made, is_newer, make, run

CACHE: Final = ROOT / ".cache"
COMPILED: Final = ROOT / ".venv-compiled"
"""The environment with the compiled package."""
BUF: Final = CACHE / "buf/node_modules/.bin/buf"
BUF_VERSION: Final = "^1.50"
AXE_VERSION: Final = "4.14.1"
AXE: Final = CACHE / f"axe-{AXE_VERSION}/node_modules/axe-core/axe.min.js"
"""Finds faults of accessibility. Not part of the repository: its license, MPL 2.0, is another one."""
GO_CLIENT: Final = CACHE / "go-client/client"
ACTIONLINT: Final = CACHE / "actionlint/actionlint"
COMPOSE: Final = CACHE / "compose/docker-compose"
CONTAINERD: Final = CACHE / "containerd/bin"
"""Folder with containerd, its shim and ctr."""
KUBELET: Final = CACHE / "kubelet/kubelet"
KUBE_FILTERS: Final = CACHE / "kube-filters/kube-filters"
KUBERNETES_VERSION: Final = "v1.36.3"
_TOOLS: Final = ROOT / "tests/tools"
_KUBEAPI, _KUBECTL, _KREW, _KWOK = (_TOOLS / name for name in ("kubeapi", "kubectl", "krew", "kwok"))
_HELM, _ACTIONLINT, _COMPOSE = (_TOOLS / name for name in ("helm", "actionlint", "compose"))
_CONTAINERD, _KUBELET = (_TOOLS / name for name in ("containerd", "kubelet"))
_COLLECTOR, _CLIENT = ROOT / "tests/telemetry/collector", ROOT / "tests/interop/go"


def provide(names: Iterable[str]) -> None:
    """Build those of these tools that are missing or older than their sources. Raises CannotRun."""
    tools = {tool.name: tool for tool in TOOLS}
    for tool in map(tools.__getitem__, names):
        if tool.is_current():
            continue
        tool.check_programs()
        provide(tool.after)
        tool.make()


_VERSION: Final = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}"


def _build_kubeapi() -> None:
    _go_build(_KUBEAPI, "-trimpath", "-ldflags", _VERSION, "-o", f"{CACHE}/kubeapi/bin/", "./cmd/...")
    (CACHE / "kubeapi/ready").touch()


def _build_kubectl() -> None:
    _go_build(_KUBECTL, "-trimpath", "-ldflags", _VERSION, "-o", f"{CACHE}/kubectl/bin/", ".")
    (CACHE / "kubectl/ready").touch()


def _build_krew() -> None:
    _go_build(_KREW, "-trimpath", "-ldflags", "-s -w", "-o", f"{CACHE}/krew/bin/", "tool")
    (CACHE / "krew/ready").touch()


def _build_kube_filters() -> None:
    _go_build(_KUBEAPI, "-trimpath", "-ldflags", "-s -w", "-o", f"{KUBE_FILTERS}", "./filters")
    KUBE_FILTERS.touch()


def _build_kwok() -> None:
    _go_build(_KWOK, "-trimpath", "-ldflags", "-s -w", "-o", f"{CACHE}/kwok/bin/", "tool")
    (CACHE / "kwok/ready").touch()


def _build_helm() -> None:
    _go_build(_HELM, "-trimpath", "-ldflags", "-s -w", "-o", f"{CACHE}/helm/bin/", "tool")
    (CACHE / "helm/ready").touch()


def _build_actionlint() -> None:
    _go_build(_ACTIONLINT, "-trimpath", "-ldflags", "-s -w", "-o", f"{CACHE}/actionlint/", "tool")
    ACTIONLINT.touch()


def _build_compose() -> None:
    command = "github.com/docker/compose/v2/cmd"
    _go_build(_COMPOSE, "-trimpath", "-ldflags", "-s -w", "-o", f"{COMPOSE}", command)
    COMPOSE.touch()


def _build_containerd() -> None:
    _go_build(_CONTAINERD, "-trimpath", "-ldflags", "-s -w", "-o", f"{CONTAINERD}/", "tool")
    (CACHE / "containerd/ready").touch()


def _build_kubelet() -> None:
    _go_build(_KUBELET, "-trimpath", "-ldflags", _VERSION, "-o", f"{KUBELET}", ".")
    KUBELET.touch()


def _go_build(folder: Path, *arguments: str) -> None:
    run("go", "build", "-buildvcs=false", *arguments, cwd=folder, CGO_ENABLED="0")


def _build_collector() -> None:
    made = CACHE / "collector/collector"
    run("go", "build", "-buildvcs=false", "-o", made, ".", cwd=_COLLECTOR)
    made.touch()


def _download_promtool() -> None:
    made = CACHE / "promtool/promtool"
    made.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=made.parent) as folder:
        run(*("apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "prometheus"), cwd=Path(folder))
        (package,) = Path(folder).glob("prometheus_*.deb")
        run("dpkg-deb", "-x", package, Path(folder, "package"))
        for program in ("prometheus", "promtool"):
            shutil.copy2(Path(folder, "package/usr/bin", program), made.with_name(program))


def _download_slurm() -> None:
    """Unpack Slurm and what it needs beside the packages of this machine, which does not change."""
    folder = CACHE / "slurm"
    shutil.rmtree(folder, ignore_errors=True)
    archives = folder / "archives"
    (archives / "partial").mkdir(parents=True)
    options = ("-qq", "-o", "APT::Sandbox::User=root", "-o", f"Dir::Cache::archives={archives}")
    install = ("install", "--yes", "--download-only", "--reinstall", "--no-install-recommends")
    run("apt-get", *options, "update")
    run("apt-get", *options, *install, *_SLURM_PACKAGES)
    for package in archives.glob("*.deb"):
        run("dpkg-deb", "-x", package, folder / "root")
    shutil.rmtree(archives)
    for name in ("slurmctld", "slurmd", "slurmstepd"):
        # Under another name a daemon takes itself for a command, and ignores the GPUs of slurm.conf.
        (folder / "root/usr/sbin" / name).symlink_to(f"{name}-wlm")
    (folder / "ready").touch()


def haproxy() -> str | None:
    """The program HAProxy, which Debian installs beside the PATH of users."""
    return shutil.which("haproxy", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))


def _install_haproxy() -> None:
    run("apt-get", "-qq", "update")
    run("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "haproxy")


def _install_buf() -> None:
    quiet = ("--silent", "--no-fund", "--no-audit")
    run("npm", "install", *quiet, "--prefix", CACHE / "buf", f"@bufbuild/buf@{BUF_VERSION}")
    (CACHE / "buf/ready").touch()


def _install_axe() -> None:
    folder = CACHE / f"axe-{AXE_VERSION}"
    quiet = ("--silent", "--no-fund", "--no-audit", "--ignore-scripts")
    run("npm", "install", *quiet, "--prefix", folder, f"axe-core@{AXE_VERSION}")


def _has_browser() -> bool:
    return shutil.which("chromium") is not None and all(map(find_spec, ("playwright", "PIL")))


def _install_browser() -> None:
    run(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[browser]")
    if shutil.which("chromium") is None:
        run("apt-get", "-qq", "update")
        run("apt-get", "-qq", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core")


def _build_go_client() -> None:
    run(BUF, "generate", cwd=ROOT / "client/go")
    _check_format(_CLIENT)
    run("go", "vet", "./...", cwd=_CLIENT)
    run("go", "build", "-buildvcs=false", "-o", GO_CLIENT, ".", cwd=_CLIENT)
    GO_CLIENT.touch()


def _check_format(folder: Path) -> None:
    sources = sorted(path.name for path in folder.glob("*.go"))
    listed = subprocess.run(["gofmt", "-l", *sources], cwd=folder, capture_output=True, text=True, check=True)
    if listed.stdout:
        raise CannotRun(f"not formatted, see gofmt -d in {folder}: {', '.join(listed.stdout.split())}")


_SLURM_PACKAGES: Final = ("slurmctld", "slurmd", "slurm-client", "munge", "slurmdbd", "mariadb-server-core")
TOOLS: Final = (
    Tool(
        "kubeapi",
        "kube-apiserver, kube-controller-manager, kube-scheduler and etcd",
        "7 min",
        ("go",),
        lambda: (
            bool(os.environ.get("KUBEBUILDER_ASSETS"))
            or is_newer(
                CACHE / "kubeapi/ready", "tests/tools/kubeapi/go.sum", "tests/tools/kubeapi/cmd/*/main.go"
            )
        ),
        _build_kubeapi,
    ),
    Tool(
        "kubectl",
        "kubectl, for commands in the documentation",
        "2 min",
        ("go",),
        lambda: is_newer(
            CACHE / "kubectl/ready", "tests/tools/kubectl/go.sum", "tests/tools/kubectl/main.go"
        ),
        _build_kubectl,
    ),
    Tool(
        "krew",
        "krew, which installs plugins of kubectl",
        "1 min",
        ("go",),
        lambda: is_newer(CACHE / "krew/ready", "tests/tools/krew/go.sum"),
        _build_krew,
    ),
    Tool(
        "kube-filters",
        "the filters of kube-scheduler, asked about one pod at a time",
        "4 min",
        ("go",),
        lambda: is_newer(KUBE_FILTERS, "tests/tools/kubeapi/go.sum", "tests/tools/kubeapi/filters/main.go"),
        _build_kube_filters,
    ),
    Tool(
        "kwok",
        "kwok, which plays nodes and their kubelets",
        "2 min",
        ("go",),
        lambda: is_newer(CACHE / "kwok/ready", "tests/tools/kwok/go.sum"),
        _build_kwok,
    ),
    Tool(
        "helm",
        "helm and kustomize, for the chart and the manifests",
        "5 min",
        ("go",),
        lambda: is_newer(CACHE / "helm/ready", "tests/tools/helm/go.sum"),
        _build_helm,
    ),
    Tool(
        "actionlint",
        "actionlint, which finds faults of workflows",
        "20 s",
        ("go",),
        lambda: is_newer(ACTIONLINT, "tests/tools/actionlint/go.sum"),
        _build_actionlint,
    ),
    Tool(
        "compose",
        "docker compose, as Docker's command starts it",
        "2 min",
        ("go",),
        lambda: is_newer(COMPOSE, "tests/tools/compose/go.sum"),
        _build_compose,
    ),
    Tool(
        "containerd",
        "containerd, which runs the containers of a kubelet",
        "2 min",
        ("go",),
        lambda: is_newer(CACHE / "containerd/ready", "tests/tools/containerd/go.sum"),
        _build_containerd,
    ),
    Tool(
        "kubelet",
        "the kubelet, which runs the pods of a node",
        "2 min",
        ("go",),
        lambda: is_newer(KUBELET, "tests/tools/kubelet/go.sum", "tests/tools/kubelet/main.go"),
        _build_kubelet,
    ),
    Tool(
        "collector",
        "an OpenTelemetry Collector that telemetry is sent through",
        "2 min",
        ("go",),
        lambda: is_newer(CACHE / "collector/collector", "tests/telemetry/collector/*"),
        _build_collector,
    ),
    Tool(
        "promtool",
        "Prometheus, and its checker of metrics and alerts, from Debian's package",
        "10 s",
        ("apt-get", "dpkg-deb"),
        lambda: all(is_newer(CACHE / "promtool" / name) for name in ("prometheus", "promtool")),
        _download_promtool,
    ),
    Tool(
        "slurm",
        "a Slurm cluster, from Debian's packages",
        "20 s",
        ("apt-get", "dpkg-deb"),
        lambda: is_newer(CACHE / "slurm/ready"),
        _download_slurm,
    ),
    Tool(
        "haproxy",
        "HAProxy, which balances calls between servers, from Debian's package",
        "20 s",
        ("apt-get",),
        lambda: haproxy() is not None,
        _install_haproxy,
    ),
    Tool(
        "buf",
        "the linter and compiler of protos",
        "10 s",
        ("npm",),
        lambda: is_newer(CACHE / "buf/ready", "tests/tools/catalog.py"),
        _install_buf,
    ),
    Tool(
        "axe",
        "axe-core, which finds faults of accessibility",
        "5 s",
        ("npm",),
        AXE.exists,
        _install_axe,
    ),
    Tool(
        "browser",
        "Debian's Chromium, the library that drives it, and one that compares pictures",
        "1 min",
        (),
        _has_browser,
        _install_browser,
    ),
    Tool(
        "go-client",
        "the Go code of the protos, and a client that uses it",
        "1 min",
        ("go", "gofmt"),
        lambda: is_newer(GO_CLIENT, "tests/interop/go/*.*", "client/go/*.*", "protos/tenure/v1/*.proto"),
        _build_go_client,
        after=("buf",),
    ),
    Tool(
        "release",
        "the tools of locks, builds and releases, in an environment of its own",
        "30 s",
        ("make",),
        lambda: is_made(".venv-release/ready"),
        lambda: make(".venv-release/ready"),
    ),
    Tool(
        "protoc",
        "the compiler of message classes",
        "30 s",
        ("make",),
        lambda: is_made(".venv-proto/ready"),
        lambda: make(".venv-proto/ready"),
    ),
    Tool(
        "compiled",
        "the package with a compiled solver, in an environment of its own",
        "5 min",
        ("make",),
        lambda: is_made(".venv-compiled/ready"),
        lambda: make(".venv-compiled/ready"),
    ),
)
"""All tools, in the order of the list."""
