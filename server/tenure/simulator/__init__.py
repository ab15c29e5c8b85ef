"""Trace-driven simulation: play months of a cluster with the code that decides.

`simulation` is the event loop, `decider` the solver behind it, `results` what a run leaves, `metrics` what is
computed from that.
"""
