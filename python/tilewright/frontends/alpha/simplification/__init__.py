"""Simplifying reductions without being told how: Gupta and Rajopadhye, POPL 2006."""
