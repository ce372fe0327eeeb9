"""Jobs: what takes long, done one at a time in each workspace, and never lost."""
