"""Stands where HTA's `hta.configs` stands."""
