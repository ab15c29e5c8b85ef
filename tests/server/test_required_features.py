"""A caller that requires a feature or a field is refused by a server that lacks it, whatever it calls."""

import pytest
from tenure.client import Client, StateSession, TenureError, UnsupportedFeature
from tenure.server.capabilities import build_capabilities
from tenure.server.settings import ServerLimits
from tenure.solver.registry import default_profile
from tenure.wire.features import FEATURES, MAX_LENGTH, is_known

from tests.e2e.command import ROOT
from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


@pytest.fixture(scope="module")
def server() -> str:
    with run_server() as (_, address):
        yield address


@pytest.mark.parametrize("known", [("grants",), ("PodGroup.grant", "notices"), tuple(FEATURES)], ids=str)
def test_what_the_server_has_may_be_required(server: str, known: tuple[str, ...]) -> None:
    with Client(server, require=known) as client:
        assert client.decide(small_snapshot()).header.now == small_snapshot().now


UNKNOWN = ("PodGroup.never_evict_me", "Nothing.grant", "telepathy", "PodGroup.", ".grant", "grants.")


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_what_the_server_lacks_is_refused_and_named(server: str, unknown: str) -> None:
    with (
        Client(server, require=("grants", unknown)) as client,
        pytest.raises(UnsupportedFeature, match=f"requires '{unknown}', which this version"),
    ):
        client.decide(small_snapshot())


def test_every_kind_of_call_is_refused(server: str) -> None:
    with Client(server, require=["telepathy"]) as client:
        snapshot = small_snapshot()
        for call in (
            client.get_capabilities,
            lambda: client.put_snapshot("e", snapshot),
            lambda: client.get_state(snapshot.cluster_id),
            lambda: StateSession(client).push(snapshot),
        ):
            with pytest.raises(TenureError, match="telepathy"):
                call()


@pytest.mark.parametrize("require", [["grants"] * 600 + ["telepathy"], ["x" * (MAX_LENGTH + 1)]], ids=len)
def test_too_many_names_are_refused_and_none_is_left_out(server: str, require: list[str]) -> None:
    with (
        Client(server, require=require) as client,
        pytest.raises(TenureError, match="4096 are allowed: require fewer names"),
    ):
        client.decide(small_snapshot())


def test_features_name_fields_that_exist_and_are_told() -> None:
    assert [field for fields in FEATURES.values() for field in fields if not is_known(field)] == []
    assert all(fields for fields in FEATURES.values())
    told = build_capabilities(default_profile(), ServerLimits())
    assert (list(told.features), told.contract_revision > 0) == (sorted(FEATURES), True)


def test_actions_are_told_in_the_order_in_which_they_are_to_run() -> None:
    told = list(build_capabilities(default_profile(), ServerLimits()).actions)
    assert [name for name in told if name in default_profile().actions] == list(default_profile().actions)
    assert told.index("timelimit") == 0
    assert told.index("reservation") == told.index("allocate") + 1


def test_every_plugin_that_is_told_is_documented() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text()
    told = build_capabilities(default_profile(), ServerLimits()).plugins
    assert [name for name in told if f"`{name}`" not in page] == []
