"""What every process of Tenure needs: configuration files, telemetry, log formats and signals."""
