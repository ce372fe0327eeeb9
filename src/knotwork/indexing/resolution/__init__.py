"""Which entities are one thing under several names: rules, and a judge for what they leave open."""
