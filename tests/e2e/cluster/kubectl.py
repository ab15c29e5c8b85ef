"""kubectl, as users run it: with their own kubeconfig."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.kubernetes.environment.binaries import required_kubectl


class KubectlResult(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    output: str
    errors: str


class Kubectl:
    """kubectl with the credentials of a kubeconfig. Plugins are those of this environment."""

    def __init__(self, kubeconfig: Path) -> None:
        self._program, self._kubeconfig = required_kubectl(), kubeconfig

    def run(self, *arguments: str) -> KubectlResult:
        """Run a command."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self._kubeconfig), "COLUMNS": "80"}
        ended = subprocess.run(
            [self._program, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        return KubectlResult(ended.returncode, ended.stdout, ended.stderr)

    def output(self, *arguments: str) -> str:
        """Run a command that must succeed; return what it printed."""
        result = self.run(*arguments)
        assert result.code == 0, result
        return result.output
