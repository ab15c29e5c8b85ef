"""Keeping pods together: within one rack, block or zone."""
