"""The functions of the language: every one on this list only makes values of values."""

from knotwork.cypher.functions.registry import find_function, function_names
from knotwork.cypher.functions.signature import Function

__all__ = ["Function", "find_function", "function_names"]
