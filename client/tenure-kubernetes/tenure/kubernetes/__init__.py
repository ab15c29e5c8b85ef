"""The Kubernetes adapter: observes a cluster, asks a server, applies what it decides."""
