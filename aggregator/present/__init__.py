"""For eyes and for programs: tables, documents and pictures of what was found."""
