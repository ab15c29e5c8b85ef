"""Pods that need, avoid or wait for each other, in random clusters."""
