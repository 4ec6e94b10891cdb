"""The topics; `harness` says what one is."""
