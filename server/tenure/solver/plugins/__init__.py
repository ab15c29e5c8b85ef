"""Built-in plugins, one concern each. They import the plugin API only, and never each other."""
