"""Diagnosis: why pod groups wait, yield or stay, found on the finished session of a cycle.

It places pod groups on changed states and undoes everything, so no decision depends on it.
"""
