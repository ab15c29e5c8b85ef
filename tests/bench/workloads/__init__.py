"""Workloads of the benchmarks: published ones and our own."""
