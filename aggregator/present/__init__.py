"""Output for people and programs: tables, documents and pictures of estimates."""
