"""Rows of a snapshot: tables of rows with their changes, shapes and rows of pods, shared GPUs."""
