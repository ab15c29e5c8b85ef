"""A real kube-apiserver on a real etcd, on loopback, in its own folder.

Controllers, kube-scheduler and kwok run beside it where a test needs them (`components`). Else tests do
their work.
"""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program, free_port
from tests.kubernetes.environment.binaries import Binaries

ADMIN_TOKEN: Final = "admin-of-the-test"
ADAPTER_TOKEN: Final = "adapter-of-the-test"
"""Token of user `adapter`, which has all permissions.

It distinguishes calls of the adapter from calls of tests.
"""
CONTROLLERS_TOKEN: Final = "controllers-of-the-test"
SCHEDULER_TOKEN: Final = "scheduler-of-the-test"
_USERS: Final = (
    (ADMIN_TOKEN, "admin", "system:masters"),
    (ADAPTER_TOKEN, "adapter", "system:masters"),
    (CONTROLLERS_TOKEN, "system:kube-controller-manager", ""),
    (SCHEDULER_TOKEN, "system:kube-scheduler", ""),
)
"""Token, name and group of users. The API server itself grants rights to the last two."""
_WITHOUT_CONTROLLERS: Final = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
"""Else pods need a service account that no controller creates, and nodes keep the taint of unready ones."""
START_SECONDS: Final = 60
_MONTH_SECONDS: Final = 30 * 24 * 3600
_TRIES: Final = 3
"""Number of attempts to start: another process can take a port between its choice and its use."""
_AS_ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
_UNVERIFIED: Final = ssl._create_unverified_context()


class StartFailed(RuntimeError):
    """A program exited, or was not ready in time; the message is the end of its output."""


class ControlPlane:
    """etcd and kube-apiserver. Either can be paused, killed and restarted with the same data.

    With `has_controllers`, it admits pods and nodes as in a cluster, which needs all controllers beside it.
    """

    def __init__(
        self, binaries: Binaries, folder: Path, *api_flags: str, has_controllers: bool = False
    ) -> None:
        self._binaries = binaries
        self._folder = folder
        self._api_flags = api_flags if has_controllers else (_WITHOUT_CONTROLLERS, *api_flags)
        self._etcd_port, self._peer_port, self.port = free_port(), free_port(), free_port()
        self._make_keys()
        self.etcd = self._start_etcd()
        self.api_server = self._start_api_server()

    @property
    def url(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def certificate(self) -> Path:
        """The certificate that the API server generated for itself, which clients trust."""
        return self._folder / "certificates/apiserver.crt"

    @property
    def accounts_key(self) -> Path:
        """The key that signs tokens of service accounts."""
        return self._folder / "accounts.key"

    def kubeconfig(self, token: str = ADMIN_TOKEN) -> Path:
        """Write a kubeconfig file with this token."""
        path = self._folder / ("kubeconfig" if token == ADMIN_TOKEN else f"kubeconfig-{token[-16:]}")
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
            f"clusters: [{{name: test, cluster: {{server: '{self.url}', "
            f"certificate-authority: '{self.certificate}'}}}}]\n"
            f"users: [{{name: test, user: {{token: '{token}'}}}}]\n"
            "contexts: [{name: test, context: {cluster: test, user: test}}]\n"
        )
        return path

    def restart_api_server(self) -> None:
        """Kill the API server and restart it: all watches end, and stored objects are kept."""
        self.api_server.kill()
        self.api_server = self._start_api_server()

    def compact(self) -> None:
        """Compact the history: watches that resume from earlier versions get 410. Restarts the API server."""
        self.api_server.kill()
        self._etcdctl_compact()
        self.api_server = self._start_api_server()

    def metrics(self) -> str:
        """Return the metrics of the API server."""
        request = urllib.request.Request(f"{self.url}/metrics", headers=_AS_ADMIN)
        with urllib.request.urlopen(request, timeout=30, context=_UNVERIFIED) as answer:
            return str(answer.read().decode())

    def stop(self) -> None:
        """Kill both."""
        self.api_server.kill()
        self.etcd.kill()

    def _make_keys(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.accounts_key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        lines = (f'{token},{name},{name},"{group}"\n' for token, name, group in _USERS)
        self._folder.joinpath("tokens.csv").write_text("".join(lines))

    def _start_etcd(self) -> Program:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        program = Program(
            self._folder / "etcd.log",
            self._binaries.etcd,
            f"--data-dir={self._folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--quota-backend-bytes={4 * 2**30}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )
        return _ready(program, f"{client}/health")

    def _start_api_server(self) -> Program:
        program = Program(
            self._folder / "api-server.log",
            self._binaries.api_server,
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self._folder / 'certificates'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            f"--service-account-issuer={self.url}",
            f"--service-account-key-file={self.accounts_key}",
            f"--service-account-signing-key-file={self.accounts_key}",
            "--api-audiences=api",
            "--allow-privileged",
            "--profiling=false",
            "--v=1",
            *self._api_flags,
        )
        return _ready(program, f"{self.url}/readyz")

    def _etcdctl_compact(self) -> None:
        """Compact as `etcdctl compact` does, through the JSON gateway of etcd."""
        base = f"http://127.0.0.1:{self._etcd_port}/v3/kv"
        revision = json.loads(_post(f"{base}/range", {"key": "AA=="}))["header"]["revision"]
        _post(f"{base}/compaction", {"revision": revision, "physical": True})


def _post(url: str, body: dict[str, object]) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        content: bytes = answer.read()
        return content


def _ready(program: Program, url: str) -> Program:
    """Wait until the program's address returns 200. Raises StartFailed."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and not program.has_ended:
        if _is_reachable(url):
            return program
        time.sleep(0.05)
    program.kill()
    raise StartFailed(program.output)


def _is_reachable(url: str) -> bool:
    request = urllib.request.Request(url, headers=_AS_ADMIN)
    try:
        with urllib.request.urlopen(request, timeout=2, context=_UNVERIFIED) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def account_token(admin: Transport, namespace: str, account: str) -> str:
    """Return a token of a service account, which is valid for a month. Raises ApiError."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    spec = {"expirationSeconds": _MONTH_SECONDS}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(json.loads(admin.post(path, request))["status"]["token"])


@contextmanager
def run_control_plane(
    binaries: Binaries, folder: Path, *api_flags: str, has_controllers: bool = False
) -> Iterator[ControlPlane]:
    """Run a control plane and remove it at the end."""
    for attempt in range(_TRIES):
        try:
            plane = ControlPlane(binaries, folder, *api_flags, has_controllers=has_controllers)
            break
        except StartFailed:
            if attempt == _TRIES - 1:
                raise
    try:
        yield plane
    finally:
        plane.stop()
