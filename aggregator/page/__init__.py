"""The page on which people answer: one HTML document that contains the device for browsers."""
