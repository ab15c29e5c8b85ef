"""What users write in annotations of queues and workloads."""
