"""Commands that people look at: the demo with its story, and the web console."""
