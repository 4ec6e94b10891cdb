"""What compiler scripts know."""
