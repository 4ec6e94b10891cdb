"""Sets of integer points and relations between them, as values."""
