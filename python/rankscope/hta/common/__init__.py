"""Stands where HTA's `hta.common` stands."""
