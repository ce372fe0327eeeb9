"""Label expressions made into tests."""

from __future__ import annotations

from collections.abc import Callable, Collection

from knotwork.cypher.graph import GraphNode, GraphRelationship, Value
from knotwork.cypher.syntax import LabelExpression, LabelIs, LabelJunction, LabelNot
from knotwork.cypher.values import kind_of, value_error

_Test = Callable[[Collection[str]], bool]


def label_test(labels: LabelExpression) -> Callable[[Value], bool]:
    """Return the test whether an element has these labels, or this type."""
    test = _names_test(labels)

    def holds(value: Value) -> bool:
        if isinstance(value, GraphNode):
            return test(value.labels)
        if isinstance(value, GraphRelationship):
            return test((value.type,))
        raise value_error(f"Labels are those of nodes and relationships, not of {kind_of(value)}.")

    return holds


def required_label(labels: LabelExpression | None) -> str | None:
    """Return a label that every match has, if there is a plain one."""
    if isinstance(labels, LabelIs):
        return None if labels.name == "%" else labels.name
    if isinstance(labels, LabelJunction) and labels.operator == "&":
        return next((name for name in map(required_label, labels.operands) if name), None)
    return None


def _names_test(labels: LabelExpression) -> _Test:
    if isinstance(labels, LabelIs):
        name = labels.name
        return bool if name == "%" else (lambda names: name in names)
    if isinstance(labels, LabelNot):
        inner = _names_test(labels.operand)
        return lambda names: not inner(names)
    tests = [_names_test(operand) for operand in labels.operands]
    if labels.operator == "&":
        return lambda names: all(test(names) for test in tests)
    return lambda names: any(test(names) for test in tests)
