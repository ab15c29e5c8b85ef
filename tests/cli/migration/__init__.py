"""Tests of the preemptibility migration."""
