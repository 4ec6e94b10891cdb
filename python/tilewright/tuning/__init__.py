"""Schedules that are measured: candidates, the search among them, and what it found."""
