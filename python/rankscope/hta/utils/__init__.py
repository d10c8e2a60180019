"""Replaces HTA's `hta.utils`."""
