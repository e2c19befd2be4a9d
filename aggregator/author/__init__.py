"""From a draft to a campaign: the sections of a draft, and checks of the campaign before it is signed."""
