"""Planning: compares mechanisms for a question by expected error, people needed and cost."""
