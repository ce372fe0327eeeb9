"""Extraction by rules: entities, aliases, relations and aboutness without any model."""

from knotwork._transform.rules.dictionary import Dictionary
from knotwork._transform.rules.rule_extractor import RuleExtractor
from knotwork._transform.rules.rule_settings import RuleSettings

__all__ = ["Dictionary", "RuleExtractor", "RuleSettings"]
