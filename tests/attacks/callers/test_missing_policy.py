"""Tokens of several callers without a policy let each act for all: the server says so when it starts."""

import signal
from pathlib import Path

import pytest

from tests.attacks.callers.two_clusters import BOTH, TOKENS, write_policy, write_tokens
from tests.server.servers import run_server_process


@pytest.mark.parametrize(
    ("names", "has_policy", "warns"),
    [(("a",), False, False), (("a", "b"), False, True), (("a", "b"), True, False)],
)
def test_several_tokens_without_a_policy_are_warned_about(
    names: tuple[str, ...], has_policy: bool, warns: bool, tmp_path: Path
) -> None:
    keys = [f"tokenFile: '{write_tokens(tmp_path, *names)}'"]
    if has_policy:
        keys.append(f"policyFile: '{write_policy(tmp_path, *BOTH)}'")
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{{', '.join(keys)}}}\n")
    with run_server_process("--config", str(file), "--no-records") as (process, _):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert ("server.tokenFile has 2 tokens and server.policyFile is not set" in errors) == warns
    assert not any(token in errors for token in TOKENS.values())
