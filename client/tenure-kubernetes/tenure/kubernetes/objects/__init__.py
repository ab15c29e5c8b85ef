"""Kubernetes objects as msgspec structs, with the fields that the adapter reads; names, times and amounts.

Every field has a default, and dubious values stay text, so that an object with invalid values is still read.
"""
