"""Speed and size, measured. Nothing here is a test: machines differ, so what counts are ratios taken in one run."""
