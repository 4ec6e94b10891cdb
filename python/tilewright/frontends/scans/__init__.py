"""Recurrences as scans over blocks, for every front door.

What it knows of sets and affine expressions is Alpha's, whose package is therefore imported first.
"""

from .. import alpha as alpha
