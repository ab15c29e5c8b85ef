"""The adapter calls a server elsewhere as the chart tells it to: by TLS, with a certificate and a token."""

from pathlib import Path

import pytest

from tests.e2e.kube.installed import Installed
from tests.kube.adapting import LEASE, adapting
from tests.kube.cluster import Cluster, eventually
from tests.server.authority import TOKEN, Authority, token_file
from tests.server.running import serving_process
from tests.shipping.charts import VALUES

pytestmark = pytest.mark.kube


def secrets(authority: Authority, folder: Path) -> dict[str, Path]:
    """Folders in place of those where the chart mounts its secrets."""
    tls, tokens = folder / "tls", folder / "shown"
    tls.mkdir()
    tokens.mkdir()
    shown = authority.client()
    (tls / "ca.crt").symlink_to(authority.file)
    (tls / "tls.crt").symlink_to(shown["tls_cert"])
    (tls / "tls.key").symlink_to(shown["tls_key"])
    (tokens / "token").write_text(TOKEN)
    return {"/etc/tenure-tls": tls, "/etc/tenure-tokens": tokens}


@pytest.mark.usefixtures("as_adapter")
@pytest.mark.parametrize("installed", [VALUES["an adapter of a server elsewhere"]], indirect=True)
def test_a_gang_is_bound_by_a_server_that_asks_who_calls(
    cluster: Cluster, installed: Installed, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    ours = authority.server()
    asks = {
        "--tls-cert": ours["tls_cert"],
        "--tls-key": ours["tls_key"],
        "--tls-client-ca": authority.file,
        "--token-file": token_file(tmp_path, f"adapter {TOKEN}"),
    }
    file = installed.configuration(tmp_path)
    text = file.read_text().partition("telemetry:")[0]
    for inside, outside in secrets(authority, tmp_path).items():
        text = text.replace(inside, str(outside))
    file.write_text(text)
    told = ("--config", str(file), "--kubeconfig", str(installed.kubeconfig), "--lease-duration", LEASE)
    listens = ("--cluster-id", installed.namespace, "--probes-listen", "127.0.0.1:0")
    with (
        serving_process(*(str(word) for option in asks.items() for word in option)) as (_, address),
        adapting(tmp_path / "adapter.log", *told, *listens, "--server", address),
    ):
        cluster.workload("gang", pods=2, gpus=4)
        eventually(lambda: cluster.running("gang") == 2)
