"""What telemetry costs, with a working and with a faulty collector."""
