"""Models of pydantic that copy fields of records and shapes, for the servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class View(BaseModel):
    """The base of models that show a record or shape with some of its fields, or with others."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: DataclassInstance, **further: object) -> Self:
        """Build the model: fields with the same name are copied, ``further`` ones are given."""
        return cls.model_validate(fields_of(record) | further)
