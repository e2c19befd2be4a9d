"""From a draft to a campaign: the sections of the file and the checks on what they ask for."""
