"""Code blocks of all pages, and what proves that each of them works."""

import re
from typing import Final, NamedTuple

from tests.repository.pages import ROOT

PAGES: Final = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *(ROOT / "tests").glob("*/README.md"),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
SHELL: Final = ("sh", "bash", "console")
OUTPUT: Final = ("text", "diff")
"""What a program prints, and pictures."""


class Snippet(NamedTuple):
    """One code block."""

    page: str
    language: str
    text: str


def snippets() -> list[Snippet]:
    """All code blocks with a language, in order."""
    return [
        Snippet(str(page.relative_to(ROOT)), language, re.sub(rf"^{indent}", "", text, flags=re.MULTILINE))
        for page in PAGES
        for indent, language, text in re.findall(
            r"^( *)```(\w[^`\n]*)\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL
        )
    ]


def commands(snippet: Snippet) -> list[str]:
    """Command lines of a block of a shell, without output, comments, and texts for standard input."""
    text = re.sub(r"<<'END'\n.*?^END$", "", snippet.text, flags=re.MULTILINE | re.DOTALL)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    if snippet.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    bare = (re.sub(r"(^|\s)#\s.*", "", line).strip().removesuffix("&").strip() for line in lines)
    return [line for line in bare if line]


RUN: Final = "tests/repository/test_page_commands.py::test_commands_of_the_page_run"
_E2E: Final = "tests/e2e/test"
_CONFIGURATIONS: Final = f"{_E2E}_documentation.py::test_every_configuration_in_the_documentation_is_valid"
_LOOP: Final = f"{_E2E}_decision_groups_page.py::test_loop_of_the_page_applies_every_decision_once"
_GUARD: Final = f"{_E2E}_guards_page.py::test_guard_of_another_package_protects_pod_groups"
_ADAPTER: Final = "tests/integration/test_adapter_page.py::test_started_adapter_schedules_the_cluster"
_PRINTED: Final = f"{_E2E}_explain_page.py::test_command_prints_the_output_on_the_page"
_KIND: Final = (
    "tests/wire/test_new_carried_kind.py::test_new_kind_is_carried_from_a_response_to_the_next_cycle"
)
_FIELD: Final = "tests/wire/test_new_field.py::test_new_scalar_reaches_the_facts"
_JOBS: Final = f"{_E2E}_preemptibility_page.py::test_workloads_command_prints_the_table_on_the_page"

PROOFS: Final = {
    "CONTRIBUTING.md": {"sh": RUN},
    "README.md": {
        "python": f"{_E2E}_documentation.py::test_python_examples_run_against_a_server",
        "sh": f"{_E2E}_documentation.py::test_readme_commands_run_the_demo_and_the_tests",
    },
    "docs/extend/actions.md": {"toml": "tests/repository/test_snippets.py::test_metadata_names_the_example"},
    "docs/extend/guards.md": {"python": _GUARD, "toml": _GUARD, "yaml": _GUARD},
    "docs/extend/plugins.md": {"python": f"{_E2E}_guards_page.py::test_the_test_of_the_plugin_page_passes"},
    "docs/get-started/kubernetes.md": {
        "sh": f"{_E2E}_kubernetes_page.py::test_commands_of_the_page_print_what_it_shows"
    },
    "docs/get-started/quickstart.md": {
        "sh": RUN,
        "console": _PRINTED,
        "python": f"{_E2E}_documentation.py::test_python_examples_run_against_a_server",
    },
    "docs/get-started/slurm.md": {
        "sh": "tests/slurm/stories/test_page.py::test_commands_of_the_page_print_what_it_shows"
    },
    "docs/integrate/adapter.md": {
        "python": _ADAPTER,
        "python notest": "tests/integration/test_adapter_page.py::test_test_of_the_page_kills_adapters",
    },
    "docs/integrate/compatibility.md": {"sh": RUN},
    "docs/integrate/decision-groups.md": {
        "python": _LOOP,
        "yaml": f"{_E2E}_decision_groups_page.py::test_example_prints_the_output_on_the_page",
        "console": f"{_E2E}_decision_groups_page.py::test_example_prints_the_output_on_the_page",
    },
    "docs/integrate/go.md": {"sh": RUN, "go": "tests/interop/test_clients.py::test_client"},
    "docs/integrate/python.md": {
        "python": f"{_E2E}_python_page.py::test_loop_evicts_and_then_fulfills_reservations"
    },
    "docs/integrate/state-sync.md": {
        "json": "tests/contract/test_worked_example.py::test_server_returns_the_responses_of_the_page"
    },
    "docs/internals/anti-thrash.md": {"sh": RUN},
    "docs/internals/releasing.md": {"sh": RUN},
    "docs/internals/search.md": {"sh": RUN},
    "docs/internals/state.md": {"proto": _KIND, "python": _KIND},
    "docs/internals/testing.md": {"sh": RUN},
    "docs/internals/wire.md": {"proto": _FIELD, "python": _FIELD},
    "docs/operate/install.md": {
        "sh": "tests/packaging/test_install_page.py::test_helm_commands_of_the_page_render_a_release",
        "yaml": "tests/packaging/test_install_page.py::test_the_example_of_a_kustomization_changes_the_image",
    },
    "docs/operate/kubernetes-adapter.md": {
        "sh": RUN,
        "yaml": "tests/kubernetes/test_settings.py::test_example_of_the_page_is_valid",
    },
    "docs/operate/monitoring.md": {
        "yaml": "tests/telemetry/test_monitoring_page.py::test_example_is_a_valid_configuration",
        "sh": "tests/packaging/compose.py::main",
    },
    "docs/operate/scale.md": {
        "sh": "tests/load/several_servers/test_several_servers.py"
        "::test_shards_move_when_a_server_fails_and_no_answer_is_wrong"
    },
    "docs/operate/security.md": {
        "yaml": "tests/server/security/test_security_page.py::test_example_of_issuers_is_valid",
        "json": "tests/repository/test_snippets.py::test_audit_line_is_one_that_servers_write",
    },
    "docs/operate/sizing.md": {"sh": RUN},
    "docs/operate/slurm-adapter.md": {"bash": RUN, "yaml": RUN},
    "docs/operate/troubleshooting.md": {"sh": RUN},
    "docs/reference/configuration.md": {"yaml": _CONFIGURATIONS},
    "docs/reference/guards.md": {"yaml": _CONFIGURATIONS},
    "docs/reference/kubernetes-objects.md": {
        "yaml": "tests/kubernetes/owners/test_owner_kinds_page.py::test_example_of_the_page_is_valid"
    },
    "docs/reference/metrics.md": {
        "yaml": "tests/telemetry/test_telemetry_page.py::test_example_of_the_page_is_valid"
    },
    "docs/use/console.md": {"bash": RUN, "yaml": "tests/repository/test_snippets.py::test_yaml_is_valid"},
    "docs/use/explain.md": {"console": _PRINTED},
    "docs/use/import.md": {"sh": RUN},
    "docs/use/kubectl.md": {
        "sh": "tests/e2e/cluster/test_kubectl_plugin.py::test_tenant_sets_and_removes_settings",
        "yaml": "tests/repository/test_snippets.py::test_yaml_is_valid",
    },
    "docs/use/outside-traces.md": {"bash": RUN, "yaml": RUN},
    "docs/use/play.md": {"bash": RUN, "yaml": RUN},
    "docs/use/policies.md": {"bash": RUN, "yaml": RUN},
    "docs/use/preemptibility.md": {
        "yaml": _JOBS,
        "sh": "tests/cli/test_migrate.py::test_example_of_the_documentation_prints_the_output_on_the_page",
    },
    "docs/use/records-and-replay.md": {
        "sh": "tests/server/records/test_records_page.py::test_command_of_the_page_runs"
    },
    "docs/use/redact.md": {
        "console": f"{_E2E}_redaction_page.py::test_commands_print_the_output_on_the_page"
    },
    "docs/use/reservations.md": {"bash": RUN, "yaml": _CONFIGURATIONS},
    "docs/use/simulate.md": {"console": _PRINTED, "yaml": _PRINTED, "sh": RUN},
    "docs/use/sweep.md": {"bash": RUN, "yaml": RUN},
    "docs/use/tune-placement.md": {"bash": RUN, "yaml": RUN},
    "tests/conformance/README.md": {"console": RUN},
    "tests/interop/README.md": {"sh": RUN},
}
"""The test that runs the blocks of a page, by language. All commands are parsed by their programs, too."""
