"""The cost of telemetry, with a working and with a faulty collector."""
