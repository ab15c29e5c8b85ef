"""Builds `kubectl tenure` for krew: an archive for each platform, and the manifest that names them.

An archive has the packages of the plugin for several versions of CPython, in a folder that pex makes: it
starts with whichever of them is installed, and unpacks what it needs into the cache of the user first.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "client/tenure-kubernetes"
LAUNCHER: Final = Path(__file__).with_name("kubectl-tenure")
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS: Final = {
    "linux-amd64": "manylinux2014_x86_64",
    "linux-arm64": "manylinux2014_aarch64",
    "darwin-amd64": "macosx_11_0_x86_64",
    "darwin-arm64": "macosx_11_0_arm64",
}
"""Platforms by the names of krew, with those of wheels. Not Windows, where krew needs an .exe file."""
_DESCRIPTION: Final = """\
Shows what the Tenure scheduler decides, with your own rights on the cluster: queues with their quotas
and fair shares, workloads and why they are pending, protected workloads, and what a manifest would do.
Sets preemptibility and runtimes of workloads.
"""
_CAVEATS: Final = """\
Needs one of CPython {pythons} in your PATH. The first start takes some seconds.
Completion in your shell: ln -s kubectl-tenure "${{KREW_ROOT:-$HOME/.krew}}/bin/kubectl_complete-tenure"
"""


def main() -> None:
    """Write archives and manifest."""
    parser = ArgumentParser(description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("--url", required=True, help="folder on your web server for archives and manifest")
    parser.add_argument("--out", type=Path, default=ROOT / "dist/krew", help="folder for the results")
    parser.add_argument("--platform", nargs="+", choices=PLATFORMS, default=list(PLATFORMS))
    parser.add_argument("--python", nargs="+", choices=PYTHONS, default=list(PYTHONS))
    options = parser.parse_args()
    version = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["version"]
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory() as folder:
            _run("pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT, PACKAGE)
            own = sorted(Path(folder).glob("*.whl"))
            archives = {
                name: _archive(
                    name, own, options.python, options.out / f"kubectl-tenure-{version}-{name}.tar.gz"
                )
                for name in options.platform
            }
    except subprocess.CalledProcessError as failure:
        sys.exit(f"failed: {' '.join(map(str, failure.cmd))}")
    manifest = _manifest(version, archives, options.url.rstrip("/"), options.python)
    file = options.out / "tenure.yaml"
    file.write_text(yaml.safe_dump(manifest, sort_keys=False))
    print(file)


def _archive(name: str, own: Sequence[Path], pythons: Sequence[str], archive: Path) -> Path:
    """Write the archive for a platform, from our own wheels and those of the registry."""
    tag = PLATFORMS[name]
    with TemporaryDirectory() as folder:
        wheels, content = Path(folder, "wheels"), Path(folder, "content")
        for python in pythons:
            wanted = ("--python-version", python, "--implementation", "cp", "--platform", tag)
            _run("pip", "download", "--only-binary=:all:", *wanted, "--dest", wheels, *own)
        targets = [f"--platform={tag}-cp-{python}.0-cp{python.replace('.', '')}" for python in pythons]
        _run(
            "pex",
            *targets,
            *("--pre-resolved-dists", wheels, "--no-build", "--disable-cache"),
            *("--script=kubectl-tenure", "--python-shebang=/usr/bin/env python3", "--sh-boot"),
            *("--venv", "--venv-site-packages-copies"),  # links cannot join two wheels in one package
            *("--layout=packed", "--output-file", content / "plugin", "tenure-kubernetes"),
        )
        for file in (LAUNCHER, ROOT / "LICENSE"):
            shutil.copy(file, content)
        _pack(content, archive)
    return archive


def _pack(content: Path, archive: Path) -> None:
    """Pack a folder, links as files: krew unpacks no links. The same files give the same bytes."""
    with (
        archive.open("wb") as stream,
        gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", dereference=True) as tar,
    ):
        for path in sorted(content.rglob("*")):
            tar.add(path, str(path.relative_to(content)), recursive=False, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def _manifest(version: str, archives: dict[str, Path], url: str, pythons: Sequence[str]) -> dict[str, Any]:
    platforms = []
    for name, archive in archives.items():
        system, machine = name.split("-")
        platforms.append(
            {
                "selector": {"matchLabels": {"os": system, "arch": machine}},
                "uri": f"{url}/{archive.name}",
                "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
                "bin": LAUNCHER.name,
            }
        )
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "tenure"},
        "spec": {
            "version": f"v{version.replace('rc', '-rc')}",  # Semantic Versioning
            "shortDescription": "See and set what the Tenure scheduler decides",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS.format(pythons=", ".join(pythons)),
            "platforms": platforms,
        },
    }


def _run(program: str, *arguments: str | Path) -> None:
    """Run a program of this environment; its output goes to standard error."""
    quiet = ("--quiet", "--disable-pip-version-check") if program == "pip" else ()
    command = [sys.executable, "-m", program, *arguments[:1], *quiet, *arguments[1:]]
    environment = {**os.environ, "TENURE_COMPILED": "0"}  # archives are for all versions of CPython
    subprocess.run(command, env=environment, stdout=sys.stderr, check=True)  # noqa: S603 (no shell)


if __name__ == "__main__":
    main()
