"""A call has one token: nothing between a caller and the server can take it for another caller."""

from collections.abc import Iterator
from typing import Final

import grpc
import pytest
from tenure.server.service import SERVICE
from tenure.v1 import state_pb2 as pb

from tests.attacks.callers.two_clusters import TOKENS, A, B, run_two_clusters, serialize

OWN: Final = f"Bearer {TOKENS['a']}"
OTHER: Final = f"Bearer {TOKENS['b']}"
Metadata = list[tuple[str, str | bytes]]
AMBIGUOUS: Final[dict[str, Metadata]] = {
    "the own token first": [("authorization", OWN), ("authorization", OTHER)],
    "the own token last": [("authorization", OTHER), ("authorization", OWN)],
    "the same token twice": [("authorization", OWN), ("authorization", OWN)],
    "an unknown token first": [("authorization", "Bearer of-nobody-0123456789"), ("authorization", OWN)],
    "another scheme first": [("authorization", "Basic eDp5"), ("authorization", OWN)],
    "an empty one first": [("authorization", ""), ("authorization", OWN)],
    "in one value with a comma": [("authorization", f"{OTHER}, {OWN}")],
    "in one value with a space": [("authorization", f"{OWN} {TOKENS['b']}")],
}
ELSEWHERE: Final[dict[str, Metadata]] = {
    "binary metadata": [("authorization-bin", OWN.encode())],
    "of a proxy": [("proxy-authorization", OWN)],
    "as a cookie": [("cookie", f"authorization={TOKENS['a']}")],
    "a name of a caller": [("x-forwarded-user", "token:a"), ("x-forwarded-client-cert", "Subject=CN=a")],
    "another scheme": [("authorization", f"Token {TOKENS['a']}")],
    "no scheme": [("authorization", TOKENS["a"])],
    "another case": [("authorization", f"Bearer {TOKENS['a'].upper()}")],
    "a part": [("authorization", OWN[:-1])],
    "more": [("authorization", f"{OWN}x")],
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_two_clusters(tmp_path_factory.mktemp("policy")) as found:
        yield found


def code_of(address: str, cluster: str, metadata: Metadata) -> str:
    """How a call about a cluster ends with this metadata."""
    with grpc.insecure_channel(address) as channel:
        invoke = channel.stream_stream(f"/{SERVICE}/GetState", serialize)
        try:
            list(invoke(iter([pb.GetStateRequest(cluster_id=cluster)]), timeout=30, metadata=metadata))
        except grpc.RpcError as failure:
            return str(failure.code().name)
    return "OK"


@pytest.mark.parametrize("cluster", [A, B])
@pytest.mark.parametrize("way", AMBIGUOUS)
def test_several_tokens_identify_nobody(address: str, way: str, cluster: str) -> None:
    assert code_of(address, cluster, AMBIGUOUS[way]) == "UNAUTHENTICATED"


@pytest.mark.parametrize("way", ELSEWHERE)
def test_tokens_and_names_in_other_places_identify_nobody(address: str, way: str) -> None:
    assert code_of(address, A, ELSEWHERE[way]) == "UNAUTHENTICATED"


@pytest.mark.parametrize("value", [OWN, OWN.replace("Bearer", "bEARER"), OWN.replace(" ", "   ")])
def test_one_token_identifies_its_caller(address: str, value: str) -> None:
    assert code_of(address, A, [("authorization", value)]) == "OK"
    assert code_of(address, B, [("authorization", value)]) == "PERMISSION_DENIED"
