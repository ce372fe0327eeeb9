"""Rule-based replies for the model test server: functions from a conversation to a reply."""

from knotwork._extensions.testing.brains.prompts import Assignment, read_assignment
from knotwork._extensions.testing.brains.rule_brain import Brain, RuleBrain, UnknownTask

__all__ = ["Assignment", "Brain", "RuleBrain", "UnknownTask", "read_assignment"]
