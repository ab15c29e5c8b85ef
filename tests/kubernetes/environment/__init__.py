"""An API server with what a cluster needs around it: binaries, kinds, kubelets."""
