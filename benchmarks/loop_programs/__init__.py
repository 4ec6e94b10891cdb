"""Some seventy functions with loops, from many fields: what `scripts/bench loop-programs` measures."""
