"""What requests and responses look like: JSON on one side, records on the other."""
