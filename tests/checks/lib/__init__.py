"""What the checks of this folder share."""
