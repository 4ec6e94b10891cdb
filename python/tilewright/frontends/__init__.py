"""Front doors beside the declarations: other languages whose programs become functions of this library."""
