"""The checks `locks`, `audit` and `workflows`, by the tools of `.venv-release`."""

import json
import subprocess
from typing import Final

from tests.checks import CannotRun, Counts
from tests.supply_chain.locks import FOLDER, lock_names
from tests.tools.catalog import ACTIONLINT
from tests.tools.tool import ROOT

BIN: Final = ROOT / ".venv-release/bin"
FORGE: Final = ROOT / ".github"


def locks() -> Counts:
    """Resolve the locks again, with the pins that they have."""
    ended = subprocess.run([BIN / "python", ROOT / "docker/release/lock.py", "--check"], check=False)
    if ended.returncode not in (0, 1):
        raise CannotRun("no lock can be resolved here: the package index cannot be reached")
    return Counts(int(ended.returncode == 0), ended.returncode)


def audit() -> Counts:
    """Look up known vulnerabilities of everything that is locked."""
    passed = failed = 0
    for name in lock_names():
        audited, vulnerable, skipped = _audit(name)
        if skipped:
            raise CannotRun(f"{name}: advisories of {skipped} of {audited} packages cannot be reached here")
        passed, failed = passed + audited - vulnerable, failed + vulnerable
    return Counts(passed, failed)


def _audit(name: str) -> tuple[int, int, int]:
    """Numbers of packages of a lock: all, those with known vulnerabilities, those that were not looked up."""
    command = [BIN / "pip-audit", "--require-hashes", "--disable-pip", "--format", "json"]
    ended = subprocess.run(
        [*command, "--requirement", FOLDER / name], capture_output=True, text=True, check=False
    )
    if not ended.stdout.strip():
        raise CannotRun(f"{name}: advisories cannot be reached here: {ended.stderr.strip().splitlines()[-1]}")
    packages = json.loads(ended.stdout)["dependencies"]
    for package in packages:
        for vulnerability in package.get("vulns", ()):
            fixed = ", ".join(vulnerability["fix_versions"]) or "none yet"
            print(f"{name}: {package['name']} {package['version']}: {vulnerability['id']}, fixed in: {fixed}")
    vulnerable = sum(bool(package.get("vulns")) for package in packages)
    return len(packages), vulnerable, sum("skip_reason" in package for package in packages)


def workflows() -> Counts:
    """Check workflows, forms and the configuration of updates with their linters."""
    schema = (BIN / "check-jsonschema", "--builtin-schema")
    forms = sorted(path for path in (FORGE / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
    commands = (
        (ACTIONLINT, *sorted((FORGE / "workflows").glob("*.yml"))),
        (BIN / "zizmor", "--offline", "--quiet", "--persona", "pedantic", FORGE),
        (*schema, "vendor.github-issue-forms", *forms),
        (*schema, "vendor.github-issue-config", FORGE / "ISSUE_TEMPLATE/config.yml"),
        (*schema, "vendor.dependabot", FORGE / "dependabot.yml"),
    )
    passed = [subprocess.run(command, cwd=ROOT, check=False).returncode == 0 for command in commands]
    return Counts(passed.count(True), passed.count(False))
