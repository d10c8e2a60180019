"""Replaces HTA's `hta.analyzers`."""
