"""Readers of traces: each turns lines into jobs, and names the lines that it cannot read."""
