"""Layers II and III as Python says them: commands, buffers, and schedules as values."""
