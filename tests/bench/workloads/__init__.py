"""Workloads of the benchmarks: the reference's published ones, and those of this project."""
