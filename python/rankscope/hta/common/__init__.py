"""Replaces HTA's `hta.common`."""
