"""The Kubernetes adapter: observes a cluster, requests decisions from a server, and applies them."""
