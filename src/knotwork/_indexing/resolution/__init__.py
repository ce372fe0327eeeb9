"""Resolve entities: rules merge names of the same entity, and a model may judge unclear pairs."""
