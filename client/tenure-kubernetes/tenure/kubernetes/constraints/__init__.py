"""What a pod asks of its node: requests, affinities, ports, spread."""
