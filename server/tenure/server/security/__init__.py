"""Authentication and encryption: certificates and tokens, reloaded when their files change."""
