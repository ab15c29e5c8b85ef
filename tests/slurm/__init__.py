"""The Slurm adapter: pure functions on recorded JSON, and everything else on a real cluster."""
