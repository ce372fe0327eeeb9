"""Extraction by rules: entities, aliases, relations and aboutness without any model."""

from knotwork.transform.rules.dictionary import Dictionary
from knotwork.transform.rules.rule_extractor import RuleExtractor
from knotwork.transform.rules.rule_settings import RuleSettings

__all__ = ["Dictionary", "RuleExtractor", "RuleSettings"]
