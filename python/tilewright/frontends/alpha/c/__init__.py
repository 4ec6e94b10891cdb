"""C from Alpha systems: demand-driven code, its wrapper and Makefile (CSU TR CS12-101, section 9)."""
