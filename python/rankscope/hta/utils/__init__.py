"""Stands where HTA's `hta.utils` stands."""
