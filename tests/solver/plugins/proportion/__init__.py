"""Tests of the proportion plugin."""
