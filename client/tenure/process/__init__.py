"""Common parts of Tenure's processes: configuration files, telemetry, log formats and signals."""
