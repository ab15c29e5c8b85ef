"""Tests of the configuration of the server."""
