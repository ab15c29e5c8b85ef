"""The frozen facts a cycle is decided on, and the decision that comes out."""
