"""Planning: a comparison of mechanisms for a question by expected error, people needed and cost."""
