"""Attacks of tenants, who write Kubernetes objects, and of servers that decide about their pods."""
