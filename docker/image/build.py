"""Builds docker/Dockerfile with buildah on bases made from Debian packages: make image.

No registry of images and no daemon is needed: mmdebstrap makes the two bases, and buildah runs the build in a
chroot, as root. Writes the bill of materials, with all packages, to dist/image. Bases are made once, in
.cache/image.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bill import EPOCH, write_bill  # beside this program

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".cache/image"
OUT: Final = ROOT / "dist/image"
SUITE: Final = "bookworm"
_PYTHON: Final = "python-is-python3,ca-certificates"
BASES: Final = {
    "build": ("apt", f"python3,python3-venv,python3-pip,python3-dev,gcc,libc6-dev,{_PYTHON}"),
    "run": (
        "extract",
        f"python3-minimal,libpython3-stdlib,libstdc++6,base-files,base-passwd,tzdata,{_PYTHON}",
    ),
}
"""Variants of mmdebstrap and packages. `extract` adds no shell and no package manager."""
_HOOK: Final = (
    'cd "$1"; debs=var/cache/apt/archives; notes=var/lib/dpkg/status.d; mkdir -p $notes; '
    "for deb in $debs/*.deb; do dpkg-deb --field $deb > $notes/$(dpkg-deb --field $deb Package); done; "
    "for name in $REMOVED; do rm $notes/$name; "
    "dpkg-deb --fsys-tarfile $debs/${name}_*.deb | tar -t | grep -v '/$' | xargs rm -f; done; "
    "cat usr/share/ca-certificates/mozilla/*.crt > etc/ssl/certs/ca-certificates.crt; "
    "mkdir -p usr/lib/ssl; ln -sf /etc/ssl/certs/ca-certificates.crt usr/lib/ssl/cert.pem"
)
"""Keeps what packages say about themselves where scanners of images look for it, removes some packages, and
does what ca-certificates does when it is installed.
"""
_REMOVED: Final = "dpkg tar mawk debconf openssl"
"""Packages that others need only while they are installed."""
_HOST_FILES: Final = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches the package index; visible while packages are installed, and not in the image."""


def version() -> str:
    """The version of Tenure, which is the tag."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def buildah(*arguments: str | Path) -> str:
    """Run buildah; returns its output. Raises CalledProcessError."""
    command = ["buildah", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()  # noqa: S603


def make_base(name: str) -> str:
    """Name of the image of a base, which is made if it is missing."""
    variant, packages = BASES[name]
    image = f"localhost/tenure-{name}:{SUITE}"
    archive = CACHE / f"{name}.tar"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = archive.with_suffix(".new.tar")
        command = ["mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}", f"--include={packages}"]
        hooks = [f"--extract-hook={_HOOK}"] if variant == "extract" else []
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "REMOVED": _REMOVED}
        subprocess.run([*command, *hooks, SUITE, unfinished], check=True, env=environment)  # noqa: S603
        unfinished.rename(archive)
    working = buildah("from", "scratch")
    try:
        buildah("add", "--quiet", working, archive, "/")
        buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", working)
        buildah("commit", "--quiet", "--timestamp", EPOCH, working, image)
    finally:
        buildah("rm", working)
    return image


def build(compiled: bool) -> str:
    """Build the image; returns its name."""
    image = f"localhost/tenure:{version()}"
    bases = [
        ("--build-arg", f"{name}={make_base(base)}") for name, base in (("BUILD", "build"), ("BASE", "run"))
    ]
    volumes = [("--volume", f"{file}:{file}:ro") for file in _HOST_FILES if Path(file).exists()]
    command = ["build", "--isolation", "chroot", "--timestamp", EPOCH, "--pull-never", "--layers"]
    command += [word for pair in (*bases, *volumes) for word in pair]
    command += ["--build-arg", f"TENURE_COMPILED={int(compiled)}"]
    command += ["--ignorefile", "docker/Dockerfile.dockerignore", "--file", "docker/Dockerfile"]
    subprocess.run(["buildah", *command, "--tag", image, "."], cwd=ROOT, check=True)  # noqa: S603, S607
    return image


@contextmanager
def mounted(image: str) -> Iterator[Path]:
    """The files of an image, in a folder."""
    working = buildah("from", "--pull-never", image)
    try:
        yield Path(buildah("mount", working))
    finally:
        buildah("rm", working)


def size(folder: Path) -> int:
    """Bytes of all files, links apart."""
    files = (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())
    return sum({path.stat().st_ino: path.stat().st_size for path in files}.values())


def main() -> int:
    """Exit status: 0 built; 1 a step failed; 2 this machine cannot build it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interpreted", action="store_true", help="pure Python: no compiler runs")
    options = parser.parse_args()
    missing = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
    if missing or os.geteuid():
        what = f"{' and '.join(missing)}: apt-get install {' '.join(missing)}" if missing else "root"
        print(f"the image needs {what}", file=sys.stderr)
        return 2
    try:
        image = build(not options.interpreted)
        OUT.mkdir(parents=True, exist_ok=True)
        with mounted(image) as folder:
            bill = OUT / f"tenure-{version()}-image.cdx.json"
            packages = write_bill(folder, version(), bill)
            about = {"image": image, "bytes": size(folder), "packages": packages}
        (OUT / "image.json").write_text(json.dumps(about, indent=1) + "\n")
    except subprocess.CalledProcessError as failure:
        print(f"{failure.cmd[0]} {failure.cmd[1]} ended with {failure.returncode}", file=sys.stderr)
        return 1
    print(f"{image}: {about['bytes'] / 2**20:.0f} MiB, {len(packages)} packages; see {OUT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
