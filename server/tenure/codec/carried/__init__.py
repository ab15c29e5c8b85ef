"""What callers carry from cycle to cycle."""
