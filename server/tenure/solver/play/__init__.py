"""Plays: cycles one after the other on a copy of the cluster, each decided without reasons."""
