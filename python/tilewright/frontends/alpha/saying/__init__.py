"""Functions of every front door, said in Alpha."""
