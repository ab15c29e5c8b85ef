"""Resolution: from rows that refer to each other by name to dense indices, in versions that share rows."""
