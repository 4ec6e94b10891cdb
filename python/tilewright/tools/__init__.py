"""The command line and its commands, the demonstration, and the pages that are made of docstrings."""
