"""Slurm's accounting for a test cluster: slurmdbd and MariaDB from Debian's packages, on loopback.

The database has no users: `--skip-grant-tables` lets each process of this machine in, and nothing else
listens. slurmdbd creates its tables itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.child_processes import free_port
from tests.slurm.slurm_cluster import PACKAGES, PLUGINS, USERS, SlurmCluster, SlurmFailed, run_slurm

ACCOUNTS: Final = (
    "add cluster test",
    "add account lab Fairshare=100",
    "add account research parent=lab Fairshare=3",
    "add account vision parent=lab Fairshare=1",
    "add account speech parent=vision",
    f"add user {USERS[0]} account=research,vision",
    f"add user {USERS[1]} account=vision,speech",
    "add qos urgent Priority=1000",
    "add qos night PreemptExemptTime=00:00:08",
    f"modify user {USERS[0]},{USERS[1]} set qos=normal,urgent,night",
)
"""A tree of accounts with users, and two QOS: commands of sacctmgr before slurmctld starts."""
LIMITS: Final = (
    "modify account research set GrpTRES=gres/gpu=40",
    "modify account speech set GrpTRES=gres/gpu=16 GrpJobs=3",
    "modify qos night set GrpTRES=gres/gpu=16",
)
"""Commands of sacctmgr afterwards: slurmdbd learns of GPUs from slurmctld."""
_MESSAGES: Final = PACKAGES / "usr/share/mysql"
_SMALL: Final = ("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M")
_SLURM_CONF: Final = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={{folder}}/munge.sock
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu"""
_SLURMDBD_CONF: Final = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=root
StoragePass=none
StorageLoc=slurm
PluginDir={plugins}
"""


@contextmanager
def run_slurm_with_accounts(
    folder: Path, lua: str, more_replaced: Mapping[str, str] = MappingProxyType({}), **options: Any
) -> Iterator[SlurmCluster]:
    """A cluster with slurmdbd and ACCOUNTS, until the end of the context."""
    port = free_port()

    def prepare(cluster: SlurmCluster) -> None:
        _start_accounting(cluster, port)
        _manage(cluster, ACCOUNTS)

    replaced = {
        "AccountingStorageType=accounting_storage/none": _SLURM_CONF.format(port=port),
        **more_replaced,
    }
    with run_slurm(folder, lua, replaced=replaced, prepare=prepare, **options) as cluster:
        _manage(cluster, LIMITS)
        yield cluster


def _manage(cluster: SlurmCluster, commands: Sequence[str]) -> None:
    for command in commands:
        cluster.command("sacctmgr", "-i", *command.split())


def _start_accounting(cluster: SlurmCluster, port: int) -> None:
    folder, database_port = cluster.folder, free_port()
    data = folder / "database"
    data.mkdir(mode=0o700)
    files = ("--no-defaults", "--user=root", f"--datadir={data}", f"--lc-messages-dir={_MESSAGES}", *_SMALL)
    _create_system_tables(cluster, *files)
    listen = ("--bind-address=127.0.0.1", f"--port={database_port}", f"--socket={data}/socket")
    cluster.run("mariadbd", "mariadbd", *files, *listen, f"--pid-file={data}/pid", "--skip-grant-tables")
    cluster.wait((data / "socket").exists, "mariadbd listens")
    settings = folder / "slurmdbd.conf"
    settings.touch(mode=0o600)
    settings.write_text(
        _SLURMDBD_CONF.format(folder=folder, port=port, database_port=database_port, plugins=PLUGINS)
    )
    cluster.run("slurmdbd", "slurmdbd", "-D")
    show = ("sacctmgr", "-n", "show", "cluster")
    cluster.wait(lambda: cluster.try_command(*show).returncode == 0, "slurmdbd answers")


def _create_system_tables(cluster: SlurmCluster, *options: str) -> None:
    """Without them, slurmdbd adds an account below another one and does not find it again."""
    tables = "create database mysql;\nuse mysql;\n" + (_MESSAGES / "mysql_system_tables.sql").read_text()
    ended = cluster.try_command(str(PACKAGES / "usr/sbin/mariadbd"), *options, "--bootstrap", text=tables)
    if ended.returncode:
        raise SlurmFailed(f"mariadbd --bootstrap: {ended.stdout}{ended.stderr}")
