"""Replaces HTA's `hta.configs`."""
