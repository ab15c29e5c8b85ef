"""Slurm adapter: observes a cluster with squeue and sinfo, and applies decisions with scontrol."""
