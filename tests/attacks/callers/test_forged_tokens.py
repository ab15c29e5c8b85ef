"""JWTs: forged, expired and stolen ones are rejected, and rotated keys are followed."""

import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tenure.client import Client, Unauthenticated
from tenure.client.session import StateSession
from tenure.server.security import signing_keys
from tenure.server.security.access_control import AccessControl
from tenure.server.security.json_web_tokens import ALGORITHMS
from tenure.server.settings import Security
from tenure.v1 import state_pb2 as pb

from tests.attacks.callers.json_web_tokens import (
    AUDIENCE,
    IDENTITY,
    ISSUER,
    KeyServer,
    SigningKey,
    claims,
    edwards,
    elliptic,
    key_set,
    part,
)
from tests.attacks.callers.test_revocation import SECONDS, OpenStream
from tests.attacks.callers.two_clusters import A, B, CallEnd, call, delta, rule, snapshot_of, write_policy
from tests.server.servers import run_server

OWN = SigningKey("own")
STRANGER = SigningKey("own")


def issuer(keys: object, **changed: object) -> dict[str, object]:
    return {"name": "eu", "issuer": ISSUER, "audience": AUDIENCE, "keys": str(keys), **changed}


def guard(
    folder: Path, *issuers: dict[str, object], rules: list[dict[str, Any]] | None = None
) -> AccessControl:
    policy = write_policy(folder, *(rules or [rule(IDENTITY, clusters=[A])]))
    return AccessControl.of(Security.model_validate({"jwtIssuers": issuers, "policyFile": policy}))


def write_keys(folder: Path, *keys: SigningKey) -> Path:
    file = folder / "keys.json"
    file.write_text(key_set(*keys))
    return file


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("jwt")
    keys = write_keys(folder, OWN, elliptic("curve"))
    with run_server(guard=guard(folder, issuer(keys))) as (_, address):
        with Client(address, token=OWN.token()) as client:
            client.put_snapshot("e", snapshot_of(A))
        yield address


def read(address: str, token: str, cluster: str = A) -> CallEnd:
    return call(address, "GetState", [pb.GetStateRequest(cluster_id=cluster)], token)


def test_valid_token_is_the_identity_of_its_subject(address: str) -> None:
    assert read(address, OWN.token()).code == "OK"
    foreign = read(address, OWN.token(), B)
    assert foreign.code == "PERMISSION_DENIED"
    assert foreign.details.startswith(f"'{IDENTITY}' may not read on cluster '{B}'")
    other = read(address, OWN.token(sub="system:serviceaccount:default:tenure"))
    assert other.code == "PERMISSION_DENIED"


@pytest.mark.parametrize("key", [elliptic("k"), edwards("k"), SigningKey("k", algorithm="PS512")])
def test_asymmetric_algorithms_are_accepted(tmp_path: Path, key: SigningKey) -> None:
    with run_server(guard=guard(tmp_path, issuer(write_keys(tmp_path, key)))) as (_, address):
        assert read(address, key.token()).code == "FAILED_PRECONDITION"


def test_all_accepted_algorithms_are_asymmetric() -> None:
    assert not {name for name in ALGORITHMS if name.startswith("HS") or name == "none"}


def unsigned(header: dict[str, object]) -> str:
    return f"{part(header)}.{part(claims())}."


def signed_with_public_key(algorithm: str = "HS256") -> str:
    """Return a token whose secret is the public key, which everybody knows."""
    content = f"{part({'alg': algorithm, 'kid': 'own'})}.{part(claims())}"
    digest = hmac.new(OWN.pem(), content.encode(), hashlib.sha256).digest()
    return f"{content}.{urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def with_claims(token: str, **changed: object) -> str:
    """Return a token whose claims were changed after it was signed."""
    header, _, signature = token.split(".")
    return f"{header}.{part(claims(**changed))}.{signature}"


FORGERIES: dict[str, tuple[Callable[[], str], str]] = {
    "no algorithm": (lambda: unsigned({"alg": "none", "kid": "own"}), "must be signed with one of"),
    "no algorithm, other case": (
        lambda: unsigned({"alg": "nOnE", "kid": "own"}),
        "must be signed with one of",
    ),
    "no header fields": (lambda: unsigned({}), "must be signed with one of"),
    "public key as secret": (signed_with_public_key, "must be signed with one of"),
    "public key as secret of RS256": (
        lambda: signed_with_public_key("RS256"),
        "signature of the token is not",
    ),
    "signature of another key": (STRANGER.token, "signature of the token is not"),
    "no signature": (lambda: OWN.token().rpartition(".")[0] + ".", "signature of the token is not"),
    "changed subject": (lambda: with_claims(OWN.token(), sub="admin"), "signature of the token is not"),
    "changed expiry": (lambda: with_claims(OWN.token(-10), seconds=600), "signature of the token is not"),
    "algorithm of another key type": (
        lambda: OWN.token(header={"kid": "curve"}),
        "signature of the token is not",
    ),
    "key in the header": (
        lambda: STRANGER.token(header={"jwk": STRANGER.public()}),
        "signature of the token is not",
    ),
    "address of keys in the header": (
        lambda: STRANGER.token(header={"jku": "http://127.0.0.1:1/keys"}),
        "signature of the token is not",
    ),
    "unknown key": (lambda: STRANGER.token(header={"kid": "../../etc/passwd"}), "has no such key"),
    "critical header": (
        lambda: OWN.token(header={"crit": ["exp"], "exp": 1}),
        "cannot be parsed|not supported",
    ),
    "expired": (lambda: OWN.token(-1), "has expired"),
    "expired long ago": (lambda: OWN.token(-10_000), "has expired"),
    "not valid yet": (lambda: OWN.token(nbf=4_000_000_000), "not valid yet"),
    "wrong audience": (lambda: OWN.token(aud=["kubernetes"]), "another audience"),
    "audience is a prefix": (lambda: OWN.token(aud="tenure-admin"), "another audience"),
    "wrong issuer": (lambda: OWN.token(iss=f"{ISSUER}/"), "not one of server.jwtIssuers"),
    "list of issuers": (
        lambda: f"{part({'alg': 'RS256', 'kid': 'own'})}.{part(claims(iss=[ISSUER]))}.x",
        "cannot be parsed",
    ),
    "no expiry": (lambda: OWN.token(exp=None), "has no claim exp"),
    "no audience": (lambda: OWN.token(aud=None), "audience|no claim aud"),
    "no issuer": (lambda: OWN.token(iss=None), "not one of server.jwtIssuers"),
    "no subject": (lambda: OWN.token(sub=None), "has no claim sub"),
    "empty subject": (lambda: OWN.token(sub=""), "has a subject that is empty"),
    "subject with a line break": (lambda: OWN.token(sub="a\nb"), "has a subject that is empty"),
    "long subject": (lambda: OWN.token(sub="x" * 300), "has a subject that is empty"),
    "not a token": (lambda: "a.b.c", "cannot be parsed"),
    "claims are a list": (lambda: f"{part({'alg': 'RS256'})}.{part([])}.x", "cannot be parsed"),
}


@pytest.mark.parametrize("forgery", sorted(FORGERIES))
def test_forged_token_is_rejected(address: str, forgery: str) -> None:
    make, problem = FORGERIES[forgery]
    token = make()
    with Client(address, token=token) as client, pytest.raises(Unauthenticated, match=problem) as caught:
        client.get_state(A)
    assert token not in str(caught.value)


def test_claim_that_is_not_a_number_never_is_an_expiry(address: str) -> None:
    for value in (float("nan"), float("inf"), "9999999999", 10**400, True and -1):
        with Client(address, token=OWN.token(exp=value)) as client, pytest.raises(Unauthenticated):
            client.get_state(A)


def test_equal_subjects_of_two_issuers_are_two_identities(tmp_path: Path) -> None:
    us = SigningKey("own")
    (tmp_path / "us").mkdir()
    other = {"name": "us", "issuer": "https://us.example.com"}
    issuers = [issuer(write_keys(tmp_path, OWN)), issuer(write_keys(tmp_path / "us", us), **other)]
    with run_server(guard=guard(tmp_path, *issuers)) as (_, address):
        assert read(address, OWN.token()).code == "FAILED_PRECONDITION"
        assert read(address, us.token(iss="https://us.example.com")).code == "PERMISSION_DENIED"
        assert read(address, us.token()).code == "UNAUTHENTICATED"
        assert read(address, OWN.token(iss="https://us.example.com")).code == "UNAUTHENTICATED"


@pytest.mark.parametrize("field", ["name", "issuer"])
def test_two_issuers_with_one_name_are_refused(field: str) -> None:
    other = {"name": "us", "issuer": "https://us.example.com"}
    same = {key: value for key, value in other.items() if key != field}
    with pytest.raises(ValueError, match=f"two issuers have the same {field}"):
        Security.model_validate({"jwtIssuers": [issuer("x"), issuer("y", **same)]})


@pytest.mark.parametrize(
    "keys",
    ["http://issuer.example.com/keys", "file:///etc/keys", "https:///keys", "ftp://issuer.example.com/k"],
)
def test_keys_are_read_over_https_only(keys: str) -> None:
    with pytest.raises(ValueError, match="must be a file, or an address such as https"):
        Security.model_validate({"jwtIssuers": [issuer(keys)]})


def test_rotated_keys_of_a_file_are_followed(tmp_path: Path) -> None:
    following = SigningKey("next")
    with run_server(guard=guard(tmp_path, issuer(write_keys(tmp_path, OWN)))) as (_, address):
        old, new = OWN.token(), following.token()
        assert [read(address, token).code for token in (old, new)] == [
            "FAILED_PRECONDITION",
            "UNAUTHENTICATED",
        ]
        write_keys(tmp_path, OWN, following)
        assert [read(address, token).code for token in (old, new)] == ["FAILED_PRECONDITION"] * 2
        write_keys(tmp_path, following)
        assert [read(address, token).code for token in (old, new)] == [
            "UNAUTHENTICATED",
            "FAILED_PRECONDITION",
        ]


def test_key_that_is_replaced_under_its_id_is_not_valid(tmp_path: Path) -> None:
    with run_server(guard=guard(tmp_path, issuer(write_keys(tmp_path, OWN)))) as (_, address):
        token = OWN.token()
        assert read(address, token).code == "FAILED_PRECONDITION"
        write_keys(tmp_path, STRANGER)
        assert read(address, token).code == "UNAUTHENTICATED"
        assert read(address, STRANGER.token()).code == "FAILED_PRECONDITION"


def test_rotated_keys_of_an_address_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_keys, "RETRY_SECONDS", 0.0)
    following = SigningKey("next")
    with KeyServer().running() as keys:
        keys.content = key_set(OWN)
        with run_server(guard=guard(tmp_path, issuer(keys.address))) as (_, address):
            assert read(address, OWN.token()).code == "FAILED_PRECONDITION"
            keys.content = key_set(following)
            assert read(address, following.token()).code == "FAILED_PRECONDITION"
            assert read(address, OWN.token()).code == "UNAUTHENTICATED"


def test_unknown_keys_do_not_make_the_server_ask_for_keys_again_and_again(tmp_path: Path) -> None:
    with KeyServer().running() as keys:
        keys.content = key_set(OWN)
        with run_server(guard=guard(tmp_path, issuer(keys.address))) as (_, address):
            for number in range(50):
                assert read(
                    address, SigningKey("x", STRANGER.key).token(header={"kid": str(number)})
                ).code == ("UNAUTHENTICATED")
            assert read(address, OWN.token()).code == "FAILED_PRECONDITION"
        assert len(keys.requests) <= 2


def test_keys_stay_while_the_address_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(signing_keys, "RETRY_SECONDS", 0.0)
    with KeyServer().running() as keys:
        keys.content = key_set(OWN)
        with run_server(guard=guard(tmp_path, issuer(keys.address))) as (server, address):
            for content, status in (("{}", 200), ("x", 200), ("", 500), (f"{'x' * 2**21}", 200)):
                keys.content, keys.status = content, status
                assert read(address, STRANGER.token(header={"kid": "other"})).code == "UNAUTHENTICATED"
                assert read(address, OWN.token()).code == "FAILED_PRECONDITION"
                assert keys.address in server.faults()["keys of eu"]
    assert len([1 for record in caplog.records if "Cannot read the keys" in record.getMessage()]) == 1


def test_redirect_of_an_address_is_not_followed(tmp_path: Path) -> None:
    with KeyServer().running() as keys, KeyServer().running() as elsewhere:
        elsewhere.content = key_set(STRANGER)
        keys.status, keys.headers = 302, {"Location": elsewhere.address}
        with run_server(guard=guard(tmp_path, issuer(keys.address))) as (server, address):
            assert read(address, STRANGER.token()).code == "UNAUTHENTICATED"
            assert "redirects" in server.faults()["keys of eu"]
        assert elsewhere.requests == []


def test_token_for_the_address_is_sent(tmp_path: Path) -> None:
    token = tmp_path / "account"
    token.write_text("of-the-service-account\n")
    with KeyServer().running() as keys:
        keys.content = key_set(OWN)
        own = issuer(keys.address, keysTokenFile=str(token))
        with run_server(guard=guard(tmp_path, own)) as (_, address):
            assert read(address, OWN.token()).code == "FAILED_PRECONDITION"
        assert keys.requests[0]["Authorization"] == "Bearer of-the-service-account"


UNUSABLE = {
    "not JSON": "x",
    "no keys": '{"keys": []}',
    "secret": json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "own"}]}),
    "private key": json.dumps(
        {"keys": [{**OWN.public(), **json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OWN.key))}]}
    ),
    "short key": key_set(SigningKey("own", rsa.generate_private_key(65_537, 1_024))),
    "for encryption": json.dumps({"keys": [{**OWN.public(), "use": "enc"}]}),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("content", sorted(UNUSABLE))
def test_key_set_without_public_keys_for_signatures_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(UNUSABLE[content])
    with pytest.raises(ValueError, match=r"is not a JSON Web Key Set|has no public key for signatures"):
        guard(tmp_path, issuer(file))


@pytest.mark.parametrize("ending", ["expired", "key withdrawn"])
def test_stream_ends_with_its_token(tmp_path: Path, ending: str) -> None:
    with run_server(guard=guard(tmp_path, issuer(write_keys(tmp_path, OWN)))) as (_, address):
        with Client(address, token=OWN.token()) as client:
            client.put_snapshot("e", snapshot_of(A))
        token = OWN.token(2 if ending == "expired" else 600)
        with grpc.insecure_channel(address) as channel:
            stream = OpenStream(channel, "SyncState", pb.SyncStateRequest(nonce="1", delta=delta(A)), token)
            next(stream.call)
            if ending == "key withdrawn":
                write_keys(tmp_path, STRANGER)
            assert stream.code_within(2 + SECONDS) == "UNAUTHENTICATED"
        assert "token" in stream.call.details()


@pytest.mark.long
def test_session_continues_with_a_rotated_token_of_its_file(tmp_path: Path) -> None:
    """As the kubelet rotates the token of a service account in a mounted file."""
    file = tmp_path / "token"
    file.write_text(OWN.token(3))
    with (
        run_server(guard=guard(tmp_path, issuer(write_keys(tmp_path, OWN)))) as (_, address),
        Client(address, token_file=file) as client,
        StateSession(client) as session,
    ):
        snapshot = snapshot_of(A)
        session.push(snapshot)
        for number in range(8):
            if number == 2:
                file.write_text(OWN.token())
            snapshot.version += 1
            snapshot.nodes[0].labels["number"] = str(number)
            session.update(snapshot)
            assert session.decide().outcomes
            time.sleep(0.7)
