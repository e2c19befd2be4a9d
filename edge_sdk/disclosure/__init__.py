"""What an observer of the reports could learn: preview, exposure, posterior."""
