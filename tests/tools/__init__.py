"""External programs that checks and tests need, and their builds."""
