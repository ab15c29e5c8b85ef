"""Pods that need, avoid or wait for each other."""
