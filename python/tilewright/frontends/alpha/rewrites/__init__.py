"""Transformations of Alpha systems: pure functions of a system, a file each (CSU TR CS12-101)."""
