"""Tests of the client side of the Kubernetes API."""
