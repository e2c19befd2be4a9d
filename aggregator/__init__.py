"""The analyst's desk: author campaigns, verify uploads, turn reports into distributions."""
