"""`tenure adapter`: schedule a Kubernetes cluster."""

from pathlib import Path
from typing import Annotated

import typer
from tenure.kubernetes.capture import report_api_errors, require_kubernetes_extra
from tenure.kubernetes.choices import EvictionMode, WorkloadApi
from tenure.process.options import AllowPlaintext, LogLevel, Output, TlsCa, TlsCert, TlsKey, TokenFile

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="YAML file with the sections `adapter` and `telemetry`. Options have precedence.",
    ),
]
Server = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Address of the server (127.0.0.1:50051).")
]
ClusterId = Annotated[
    str | None, typer.Option(metavar="NAME", help="Cluster ID. Required here or in --config.")
]
NodePool = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Value of the label kai.scheduler/node-pool. Default: objects without it."
    ),
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Path to the kubeconfig. Default: in-cluster service account, then kubectl's search path.",
    ),
]
Context = Annotated[
    str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig. Default: the current one.")
]
SchedulerName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Schedule pods with this schedulerName (kai-scheduler)."),
]
Namespace = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Existing namespace for the lease and the journal (tenure-system)."),
]
LeaseName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the lease. Default: tenure, or tenure-NODEPOOL.")
]
LeaseDuration = Annotated[
    str | None, typer.Option(metavar="DURATION", help="How long a silent leader keeps the lease (15s).")
]
HealthListen = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of /healthz and /readyz. Default: no probes."),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        help="Log level on standard error. Default: telemetry.logs.level of --config, reread on SIGHUP, "
        "else info.",
    ),
]


def adapter(
    config: Config = None,
    server: Server = None,
    cluster_id: ClusterId = None,
    node_pool: NodePool = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: SchedulerName = None,
    workload_api: Annotated[
        WorkloadApi | None,
        typer.Option(help="API of queues and pod groups (auto: all that the API server serves)."),
    ] = None,
    eviction_mode: Annotated[
        EvictionMode | None,
        typer.Option(
            help="eviction respects disruption budgets, patient until they hold no longer, delete never."
        ),
    ] = None,
    namespace: Namespace = None,
    lease_name: LeaseName = None,
    lease_duration: LeaseDuration = None,
    health_listen: HealthListen = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokenFile = None,
    allow_plaintext: AllowPlaintext = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the current decisions, write nothing, and exit.")
    ] = False,
    output: Annotated[
        Output, typer.Option(help="Output format of --dry-run: a table, or one JSON object per decision.")
    ] = Output.TABLE,
    log_level: LogLevelOption = None,
) -> None:
    """Schedule a Kubernetes cluster: observe it, request decisions from a server, bind and evict.

    On SIGTERM or Ctrl-C it completes in-flight API calls, releases its lease and exits with 0. Of several
    adapters of one node pool one leads, and the others wait for its lease. Nothing is lost when it is killed:
    in-flight groups are stored in a ConfigMap.

    For example: tenure adapter --cluster-id prod --dry-run

    Exit status: 0 stopped by a signal; 2 invalid command line, configuration or kubeconfig;
    3 the server or the API server failed. After startup, the adapter retries until both are available.
    """
    with require_kubernetes_extra():
        from tenure.kubernetes.adapter_process import print_dry_run, run_adapter
    from tenure.kubernetes.settings import load_adapter_settings
    from tenure.process.log_format import LogLevelControl

    overrides = {
        "server": server,
        "cluster_id": cluster_id,
        "node_pool": node_pool,
        "kubeconfig": kubeconfig,
        "context": context,
        "scheduler_name": scheduler_name,
        "workload_api": workload_api and workload_api.value,
        "eviction_mode": eviction_mode and eviction_mode.value,
        "namespace": namespace,
        "lease_name": lease_name,
        "lease_duration": lease_duration,
        "health_listen": health_listen,
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "token_file": token_file,
        "allow_plaintext": allow_plaintext or None,
    }
    configuration = load_adapter_settings(config, overrides)
    levels = LogLevelControl(
        lambda: load_adapter_settings(config, overrides).telemetry.logs,
        None if log_level is None else log_level.value,
    )
    levels.begin(configuration.telemetry.logs)
    with report_api_errors():
        if dry_run:
            print_dry_run(configuration.adapter, as_json=output is Output.JSON)
        else:
            run_adapter(configuration, levels.reload)
