"""Kubernetes objects as far as the adapter looks at them: msgspec structs with the fields of the API.

Everything has a default, and what is odd is kept as text, so that an object somebody broke is still read.
"""
