"""The registry of translators of questions into statements. To add one, add an entry here."""

from __future__ import annotations

from knotwork._extensions.queries.query_plans import Translator
from knotwork._registry import Entry, Registry, required_parameters
from knotwork.errors import RetrievalError

_HERE = "knotwork._extensions.queries"
TRANSLATORS: Registry[Translator] = Registry(
    "translators",
    (
        Entry("rules", f"{_HERE}.query_retrievers:RuleTranslator", "plans assembled by rules"),
        Entry(
            "fragments",
            f"{_HERE}.model_translators:FragmentTranslator",
            "plans whose fragments a model chooses",
            needs=frozenset({"model"}),
        ),
        Entry(
            "statement",
            f"{_HERE}.model_translators:ModelTranslator",
            "statements that a model writes",
            needs=frozenset({"model"}),
        ),
    ),
    kind="translator",
    protocol=Translator,
)


def make_translator(name: str, **given: object) -> Translator:
    """Return the translator of this name, made of those arguments that its constructor declares.

    Raises UnknownName, ConfigError for an invalid plugin, and RetrievalError if it requires a model
    and none is configured.
    """
    if given.get("model") is None and "model" in required_parameters(TRANSLATORS.load(name)):
        raise RetrievalError(
            f"The translator `{name}` needs a language model, but none is configured.",
            fix='Set llm.model, or use the translator "rules".',
        )
    return TRANSLATORS.create(name, **given)
