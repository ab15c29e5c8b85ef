"""Decode constraints of shapes: which nodes, and which pods beside them."""
