"""Persistent volumes of pods: where they can be used, and how many a node attaches."""
