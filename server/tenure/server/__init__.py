"""The Tenure server: gRPC service, pushed states, records, telemetry and solver hosts."""
