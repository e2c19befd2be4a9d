"""The steps from a value to a sealed report: slots, the memo, transcripts and results."""
