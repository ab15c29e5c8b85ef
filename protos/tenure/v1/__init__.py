"""The wire contract: message classes generated from the protos in this folder."""
