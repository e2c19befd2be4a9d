"""From a value to a sealed report: slots, the memo, transcripts and what the caller gets back."""
