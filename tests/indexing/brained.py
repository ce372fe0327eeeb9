"""A chat model with the brain by rules, whose replies a test may change."""

from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.records import Document


def brained(wrap=lambda request, reply: reply):
    brain = RuleBrain()
    return ScriptedChatModel(lambda request: wrap(request, brain(request.messages)))


def documents_of(texts):
    return [Document(uri, text, title=uri) for uri, text in texts.items()]
