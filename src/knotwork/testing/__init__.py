"""Fakes and contract suites that any backend can use."""
