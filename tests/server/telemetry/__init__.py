"""Tests of metrics and logs of the server."""
