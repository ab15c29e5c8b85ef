"""Access to a Kubernetes API server: transport, errors, discovery, reflectors and object caches."""
