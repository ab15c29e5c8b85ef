"""What one tenant writes after the start takes nothing from other queues: played with and without it."""
