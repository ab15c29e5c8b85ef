"""Attacks of servers that decide about jobs of Slurm, on a real cluster."""
