"""The role of the adapter: no more than the values ask for."""

import pytest

from tests.shipping.charts import VALUES, only, rendered

pytestmark = pytest.mark.kube

Right = tuple[str, str, str]
"""API group, resource, verb."""


def rights(values: tuple[str, ...], kind: str = "ClusterRole") -> set[Right]:
    rules = only(rendered(values), kind)["rules"]
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_there_are_no_wildcards_and_no_rights_over_rights() -> None:
    for values in VALUES.values():
        if "adapter.enabled=false" not in values:
            granted = rights(values) | rights(values, "Role")
            assert not any("*" in right for right in granted)
            assert not {verb for _, _, verb in granted} & {"escalate", "bind", "impersonate"}
            assert not {resource for _, resource, _ in granted} & {"secrets", "serviceaccounts"}


@pytest.mark.parametrize(
    ("values", "more", "less"),
    [
        (("adapter.config.evictionMode=delete",), {("", "pods", "delete")}, set()),
        (("adapter.sharedGpus=false",), set(), {("", "pods", "patch")}),
        (
            ("adapter.config.workloadApi=kai",),
            set(),
            {
                ("scheduling.volcano.sh", resource, verb)
                for resource in ("queues", "podgroups")
                for verb in ("get", "list", "watch")
            }
            | {("scheduling.volcano.sh", "podgroups", "patch")},
        ),
        (
            ("adapter.config.workloadApi=volcano",),
            set(),
            {
                (group, resource, verb)
                for group, resource in (
                    ("scheduling.run.ai", "queues"),
                    ("scheduling.run.ai", "podgroups"),
                    ("kai.scheduler", "topologies"),
                )
                for verb in ("get", "list", "watch")
            }
            | {
                ("scheduling.run.ai", "podgroups", "patch"),
                ("scheduling.run.ai", "podgroups/status", "patch"),
            },
        ),
    ],
)
def test_rights_follow_the_values(values: tuple[str, ...], more: set[Right], less: set[Right]) -> None:
    usual, now = rights(()), rights(values)
    assert now - usual == more
    assert usual - now == less


@pytest.mark.parametrize(
    ("values", "lease"),
    [
        ((), "tenure"),
        (("adapter.config.nodePool=gpu",), "tenure-gpu"),
        (("adapter.config.nodePool=gpu", "adapter.config.leaseName=mine"), "mine"),
    ],
)
def test_it_may_change_its_own_lease_and_ledger_alone(values: tuple[str, ...], lease: str) -> None:
    rules = only(rendered(values), "Role")["rules"]
    named = [rule["resourceNames"] for rule in rules if rule["verbs"] != ["create"]]
    assert named == [[lease], [f"{lease}-ledger"]]
