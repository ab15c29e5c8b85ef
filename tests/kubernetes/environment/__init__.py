"""An API server with its environment: binaries, kinds and kubelets."""
