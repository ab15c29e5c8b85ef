"""Tests of the installed chart on a real API server."""
