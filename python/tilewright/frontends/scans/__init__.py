"""Recurrences as scans over blocks, for every front door."""
