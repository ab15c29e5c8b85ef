"""Programs of others that checks and tests need, and how they are built."""
