"""Owners of pods: the table of their kinds, their look-up, and the gangs that they describe."""
