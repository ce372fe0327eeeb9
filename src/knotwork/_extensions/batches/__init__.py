"""Requests in batches of a server: answered within a day, at half the price."""
