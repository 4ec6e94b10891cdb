"""Libraries for C programs, made of functions."""
