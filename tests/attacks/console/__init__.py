"""Attacks of readers on the web console and on each other."""
