"""What runs on the device."""
