"""The fuzzer: random programs and schedules, an independent judge, and what runs them."""
