"""What the scripts share. Standard library only."""
