"""What an observer of the reports could learn: previews, exposure, posterior beliefs."""
