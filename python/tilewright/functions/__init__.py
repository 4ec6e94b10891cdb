"""Functions, as people hold and call them, and how they are declared."""
