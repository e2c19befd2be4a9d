"""What the app draws and does not compute, with the scripts that made it."""
