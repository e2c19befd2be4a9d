"""Which mechanism suits a question, how many people it takes, and what it costs."""
