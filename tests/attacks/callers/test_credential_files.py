"""Bad tokens do not fill the log, and files that other users can change are refused."""

import logging
import os
import re
from pathlib import Path

import grpc
import pytest
from tenure.client import Client
from tenure.server.security.access_control import AccessControl
from tenure.server.security.rejections import INTERVAL_SECONDS, MAX_PEERS, OTHERS, Rejections
from tenure.server.settings import Security
from tenure.v1 import state_pb2 as pb

from tests.attacks.callers.two_clusters import (
    BOTH,
    TOKENS,
    A,
    B,
    call_on,
    rule,
    security,
    snapshot_of,
    write_policy,
    write_tokens,
)
from tests.e2e.command import run_tenure
from tests.server.security.certificate_authority import CertificateAuthority
from tests.server.servers import run_server

CALLS = 500


def rejections(caplog: pytest.LogCaptureFixture) -> list[str]:
    messages = [record.getMessage() for record in caplog.records]
    return [message for message in messages if message.startswith("Rejected")]


@pytest.mark.parametrize(
    ("token", "cluster", "code"), [("x" * 20, A, "UNAUTHENTICATED"), (TOKENS["a"], B, "PERMISSION_DENIED")]
)
def test_rejected_calls_are_logged_once_per_peer_with_their_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, token: str, cluster: str, code: str
) -> None:
    with run_server(guard=security(tmp_path)) as (_, address), grpc.insecure_channel(address) as channel:
        for _ in range(CALLS):
            assert call_on(channel, "GetState", [pb.GetStateRequest(cluster_id=cluster)], token).code == code
        (first,) = rejections(caplog)
        assert first.startswith("Rejected a call of ipv4:127.0.0.1: ")
    assert token not in caplog.text


def test_number_of_rejected_calls_is_logged_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = Rejections(lambda: now)
    for number in range(30_000):
        log.add(f"ipv4:10.0.0.1:{number}", "unknown token", "unknown token, for 'x'")
        log.flush()
    assert rejections(caplog) == ["Rejected a call of ipv4:10.0.0.1: unknown token, for 'x'"]
    now = INTERVAL_SECONDS
    log.flush()
    log.flush()
    assert rejections(caplog)[1:] == ["Rejected 29,999 calls of ipv4:10.0.0.1: unknown token, for 'x'"]
    now = 3 * INTERVAL_SECONDS
    log.flush()
    log.add("ipv4:10.0.0.1:1", "unknown token", "unknown token, for 'x'")
    assert len(rejections(caplog)) == 3


def test_many_peers_are_logged_together(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = Rejections(lambda: now)
    for number in range(10_000):
        log.add(f"ipv6:[2001:db8::{number:x}]:1", "unknown token", "x")
    now = INTERVAL_SECONDS
    log.flush()
    assert len(rejections(caplog)) <= MAX_PEERS + 2
    assert any(f"calls of {OTHERS}" in line for line in rejections(caplog))


def test_text_of_a_rejection_is_escaped(caplog: pytest.LogCaptureFixture) -> None:
    Rejections().add("unix:", "x", "evil\nRejected a call of ipv4:10.0.0.1")
    (line,) = rejections(caplog)
    assert line.isprintable()


def files(folder: Path) -> dict[str, Path]:
    """Return safe files of every kind, by the key of the configuration."""
    authority = CertificateAuthority(folder)
    own = authority.server()
    return {
        "tlsCert": own["tls_cert"],
        "tlsKey": own["tls_key"],
        "tlsClientCa": authority.file,
        "tokenFile": write_tokens(folder, "a"),
        "policyFile": write_policy(folder, *BOTH),
    }


KINDS = ["tlsCert", "tlsKey", "tlsClientCa", "tokenFile", "policyFile"]


def start(files: dict[str, Path], **keys: object) -> AccessControl:
    return AccessControl.of(Security.model_validate({**files, **keys}))


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666, 0o777])
@pytest.mark.parametrize("kind", KINDS)
def test_file_that_other_users_can_change_is_refused(tmp_path: Path, kind: str, mode: int) -> None:
    found = files(tmp_path)
    found[kind].chmod(mode)
    with pytest.raises(ValueError, match=r"or set server\.allowUnsafeFiles to true") as caught:
        start(found)
    assert str(caught.value).startswith(f"{found[kind]}: ")
    assert f"{mode:04o}" in str(caught.value)
    assert "\n" not in str(caught.value)
    start(found, allowUnsafeFiles=True)


@pytest.mark.parametrize("kind", KINDS)
def test_pipe_in_place_of_a_file_is_refused_and_stops_no_call(tmp_path: Path, kind: str) -> None:
    found = files(tmp_path)
    guard = start(found)
    found[kind].unlink()
    os.mkfifo(found[kind], 0o600)
    problem = f"{found[kind]}: is a pipe, a socket or a device; write its content to a file"
    with pytest.raises(ValueError, match=re.escape(problem)):
        start(found, allowUnsafeFiles=True)
    watched = [each.files for each in (guard.certificates, guard.tokens, guard.policy) if each is not None]
    assert [each.latest() is not None for each in watched] == [True] * 3
    assert problem in [each.fault for each in watched]


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o601])
def test_private_key_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    found = files(tmp_path)
    found["tlsKey"].chmod(mode)
    with pytest.raises(ValueError, match=f"is a private key with mode {mode:04o}: chmod 600, or set"):
        start(found)


@pytest.mark.parametrize("kind", KINDS)
def test_safe_modes_are_accepted(tmp_path: Path, kind: str) -> None:
    found = files(tmp_path)
    for mode in (0o400, 0o600) if kind == "tlsKey" else (0o400, 0o600, 0o640, 0o644):
        found[kind].chmod(mode)
        start(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_private_key_of_another_user_may_be_readable_by_the_group(tmp_path: Path) -> None:
    found = files(tmp_path)
    os.chown(found["tlsKey"], 12_345, 0)
    found["tlsKey"].chmod(0o640)
    start(found)


def test_mounted_secret_is_accepted(tmp_path: Path) -> None:
    """Kubernetes mounts links to a directory of its own, in a sticky directory that all users can change."""
    mount = tmp_path / "mount"
    (mount / "..2025").mkdir(parents=True)
    (mount / "..data").symlink_to("..2025")
    write_tokens(mount / "..2025", "a").chmod(0o640)
    (mount / "tokens").symlink_to("..data/tokens")
    mount.chmod(0o1777)
    AccessControl.of(Security.model_validate({"tokenFile": mount / "tokens"}))


@pytest.mark.parametrize("kind", KINDS)
def test_directory_that_every_user_can_change_is_refused(tmp_path: Path, kind: str) -> None:
    found = files(tmp_path)
    folder = tmp_path / "open"
    folder.mkdir()
    found[kind] = found[kind].rename(folder / found[kind].name)
    folder.chmod(0o777)
    with pytest.raises(ValueError, match="is in a directory that every user can change"):
        start(found)


def test_unsafe_new_file_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with run_server(guard=security(tmp_path)) as (_, address), Client(address, token=TOKENS["a"]) as client:
        assert client.decide(snapshot_of(A)).outcomes
        policy = write_policy(tmp_path, rule("token:a", clusters=["*"]))
        policy.chmod(0o666)
        with pytest.raises(Exception, match="may not decide on cluster 'cluster-b'"):
            client.decide(snapshot_of(B))
        assert "so that other users can change it" in caplog.text
        policy.chmod(0o600)
        assert client.decide(snapshot_of(B)).outcomes


def test_server_reports_in_one_line_why_it_does_not_start(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, "a")
    tokens.chmod(0o666)
    ended = run_tenure("serve", "--token-file", str(tokens), "--no-records")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"tenure: {tokens}: has mode 0666, so that other users can change it: chmod go-w, or set "
        "server.allowUnsafeFiles to true\n"
    )


def test_debug_log_names_callers_and_no_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.DEBUG, "tenure"),
        run_server(guard=security(tmp_path)) as (_, address),
        Client(address, token=TOKENS["a"]) as client,
    ):
        client.decide(snapshot_of(A))
    assert "by 'token:a'" in caplog.text
    assert TOKENS["a"] not in caplog.text
