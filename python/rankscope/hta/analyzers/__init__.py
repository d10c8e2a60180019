"""Stands where HTA's `hta.analyzers` stands."""
