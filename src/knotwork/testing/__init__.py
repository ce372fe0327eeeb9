"""Fakes for tests of applications, and contract suites for stores, models and embedders."""
