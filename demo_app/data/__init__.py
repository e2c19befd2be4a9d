"""The app's icon and coastlines, with the scripts that make both files."""
