"""Tests of the speedups of the search."""
