"""Guaranteed minimum runtime before a pod group may be preempted or reclaimed."""
