"""Extraction by rules: entities, aliases, relations and aboutness without any model."""

from knotwork.transform.rules.dictionary import Dictionary
from knotwork.transform.rules.extractor import RuleExtractor
from knotwork.transform.rules.settings import RuleSettings

__all__ = ["Dictionary", "RuleExtractor", "RuleSettings"]
