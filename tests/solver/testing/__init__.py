"""Groups in flight: what was accepted and is not seen done yet."""
