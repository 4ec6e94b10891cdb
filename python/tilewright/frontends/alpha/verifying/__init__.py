"""The verifier of target mappings (CSU TR CS12-101, section 8), in parts; `verifier` puts them together."""
