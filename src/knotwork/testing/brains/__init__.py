"""Answers without a model: functions of a conversation that the model test server speaks with."""

from knotwork.testing.brains.prompts import Assignment, read_assignment
from knotwork.testing.brains.rule_brain import Brain, RuleBrain, UnknownTask

__all__ = ["Assignment", "Brain", "RuleBrain", "UnknownTask", "read_assignment"]
