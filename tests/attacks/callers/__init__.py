"""Attacks of callers: forged, stolen, withdrawn and missing credentials, and what the audit file says."""
