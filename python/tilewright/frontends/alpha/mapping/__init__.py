"""Target mapping (CSU TR CS12-101, section 7): when, where and in which memory a system runs."""
