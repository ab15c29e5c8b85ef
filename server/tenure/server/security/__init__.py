"""Who may call, and over what: certificates, tokens, and their files, which may change at any time."""
