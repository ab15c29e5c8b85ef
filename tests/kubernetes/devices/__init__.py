"""Devices and claims: selectors, sets, allocation, and random runs of the allocator."""
