"""The page on which people answer: one HTML document with the browser's device in it."""
