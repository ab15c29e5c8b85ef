"""The role of the adapter has no permission that the values do not require."""

from itertools import chain

import pytest

from tests.packaging.charts import VALUES, only_object, render_chart

pytestmark = pytest.mark.kube

Right = tuple[str, str, str]
"""API group, resource and verb."""


def rights(values: tuple[str, ...], kind: str = "ClusterRole") -> set[Right]:
    rules = [item["rules"] for item in render_chart(values) if item["kind"] == kind]
    return {
        (group, resource, verb)
        for rule in chain.from_iterable(rules)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_role_has_no_wildcards_and_no_escalating_permissions() -> None:
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
        (("adapter.config.evictionMode=patient",), {("", "pods", "delete")}, set()),
        (
            ("adapter.config.allocateDevices=true",),
            {
                *(
                    ("resource.k8s.io", resource, verb)
                    for resource in ("devicetaintrules", "resourceslices")
                    for verb in ("get", "list", "watch")
                ),
                *(("resource.k8s.io", "resourceclaims", verb) for verb in ("create", "patch", "delete")),
            },
            set(),
        ),
        (("adapter.sharedGpus=false",), set(), {("", "pods", "patch")}),
        (
            ("adapter.config.queueAccess.namespaceLabels=true",),
            {("", "namespaces", verb) for verb in ("get", "list", "watch")},
            set(),
        ),
        (
            ("tenantPolicies.protectedFields.enabled=false",),
            set(),
            {("tenure.scheduler", "protectedfields", "write")},
        ),
        (
            ("adapter.config.workloadApi=kai",),
            set(),
            {
                ("scheduling.volcano.sh", resource, verb)
                for resource in ("queues", "podgroups")
                for verb in ("get", "list", "watch")
            }
            | {("scheduling.volcano.sh", resource, "patch") for resource in ("podgroups", "queues/status")},
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
                ("scheduling.run.ai", "queues/status", "patch"),
            },
        ),
    ],
)
def test_permissions_follow_the_values(values: tuple[str, ...], more: set[Right], less: set[Right]) -> None:
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
def test_role_permits_changes_of_its_own_lease_and_journal_only(values: tuple[str, ...], lease: str) -> None:
    rules = only_object(render_chart(values), "Role")["rules"]
    named = [rule["resourceNames"] for rule in rules if rule["verbs"] != ["create"]]
    assert named == [[lease], [f"{lease}-journal"]]
