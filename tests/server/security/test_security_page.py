"""docs/operate/security.md: its examples are valid, and its tables complete."""

import re
from pathlib import Path

import pytest
from tenure.server.security.callers import Identity, PermissionDenied
from tenure.server.security.policy import PolicyFile, Verb
from tenure.server.security.tokens import Tokens, digest_of
from tenure.server.service.service import METHODS
from tenure.server.settings import load_settings
from tenure.server.shard import Shard

PAGE = (Path(__file__).parents[3] / "docs" / "operate" / "security.md").read_text()


def example(first_line: str) -> str:
    """Return the code block of the page that begins with this text."""
    (found,) = [
        text for text in re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL) if text.startswith(first_line)
    ]
    return str(found)


def write(folder: Path, content: str) -> Path:
    file = folder / "example"
    file.write_text(content)
    return file


def test_example_of_tokens_is_valid(tmp_path: Path) -> None:
    tokens = Tokens(write(tmp_path, example("adapter-eu ")))
    assert tokens.name_of(digest_of("0d6f2a0c4b1e49f0a3c8")) == "dashboard"


def test_example_of_issuers_is_valid(tmp_path: Path) -> None:
    found = load_settings(write(tmp_path, example("server:\n  jwtIssuers"))).security.jwt_issuers
    assert [(issuer.name, issuer.has_address) for issuer in found] == [("eu", True), ("us", False)]


@pytest.mark.parametrize(
    ("identity", "verb", "cluster", "node_pool", "is_permitted"),
    [
        ("token:adapter-eu", Verb.PUSH, "eu-1", "", True),
        ("token:adapter-eu", Verb.PUSH, "us-1", "", False),
        ("token:adapter-eu", Verb.READ, "eu-1", "", False),
        ("jwt:eu/system:serviceaccount:tenure-system:tenure", Verb.DECIDE, "eu-2", "x", True),
        ("jwt:us/system:serviceaccount:tenure-system:tenure", Verb.DECIDE, "eu-2", "x", False),
        ("token:adapter-us", Verb.REPORT, "us-2", "gpu-a", True),
        ("token:adapter-us", Verb.REPORT, "us-2", "cpu", False),
        ("token:adapter-us", Verb.REPORT, "us-3", "gpu-a", False),
        ("certificate:dashboard.example.com", Verb.READ, "any", "", True),
        ("token:dashboard", Verb.PUSH, "any", "", False),
    ],
)
def test_example_of_a_policy_permits(
    tmp_path: Path, identity: str, verb: Verb, cluster: str, node_pool: str, is_permitted: bool
) -> None:
    policy = PolicyFile(write(tmp_path, example("rules:")))
    caller, shard = Identity("token", (identity,)), Shard(cluster, node_pool)
    if is_permitted:
        policy.judge(caller, verb, shard)
    else:
        with pytest.raises(PermissionDenied):
            policy.judge(caller, verb, shard)


def test_table_of_verbs_lists_every_method() -> None:
    table = PAGE.partition("| verb | methods |\n")[2].partition("\n\n")[0]
    shown = {
        method: verb.strip(" `")
        for verb, methods in re.findall(r"^\|([^|]*)\|([^;|]*)", table, re.MULTILINE)
        for method in re.findall(r"`(\w+)`", methods)
    }
    assert shown == {
        name: "none" if method.verb is Verb.DESCRIBE else method.verb.value
        for name, method in METHODS.items()
    }
