"""The adapter calls a remote server as the chart configures it: over TLS, with a certificate and a token."""

from pathlib import Path

import pytest

from tests.e2e.kubernetes.installation.installation import Installation
from tests.kubernetes.adapter_process import LEASE, run_adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.packaging.charts import VALUES
from tests.server.security.certificate_authority import TOKEN, CertificateAuthority, token_file
from tests.server.servers import run_server_process

pytestmark = pytest.mark.kube


def secrets(authority: CertificateAuthority, folder: Path) -> dict[str, Path]:
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
@pytest.mark.parametrize("installation", [VALUES["an adapter of a server elsewhere"]], indirect=True)
def test_gang_is_bound_through_a_server_with_tls_and_tokens(
    cluster: UserCluster, installation: Installation, tmp_path: Path
) -> None:
    authority = CertificateAuthority(tmp_path)
    ours = authority.server()
    options = {
        "--tls-cert": ours["tls_cert"],
        "--tls-key": ours["tls_key"],
        "--tls-client-ca": authority.file,
        "--token-file": token_file(tmp_path, f"adapter {TOKEN}"),
    }
    file = installation.configuration(tmp_path)
    text = file.read_text().partition("telemetry:")[0]
    for inside, outside in secrets(authority, tmp_path).items():
        text = text.replace(inside, str(outside))
    file.write_text(text)
    files = ("--config", str(file), "--kubeconfig", str(installation.kubeconfig))
    settings = ("--cluster-id", installation.namespace, "--lease-duration", LEASE)
    listener = ("--health-listen", "127.0.0.1:0")
    with (
        run_server_process(*(str(word) for option in options.items() for word in option)) as (_, address),
        run_adapter(tmp_path / "adapter.log", *files, *settings, *listener, "--server", address),
    ):
        cluster.workload("gang", pods=2, gpus=4)
        wait_until(lambda: cluster.running("gang") == 2)
