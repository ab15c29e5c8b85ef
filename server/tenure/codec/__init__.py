"""Between the wire and the solver: messages to a frozen cluster, a decision to messages."""
