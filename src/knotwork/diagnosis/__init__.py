"""What can be wrong with an installation, its settings, its index and its models."""

from knotwork.diagnosis.checks import Check, diagnose

__all__ = ["Check", "diagnose"]
