"""Devices and the arrays in their memory."""
