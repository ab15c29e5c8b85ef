"""What an adapter must not forget: groups of decisions under way, and what the server said to remember."""
