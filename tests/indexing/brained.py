"""A chat model with the brain by rules, whose replies a test may change."""

from knotwork.records import Document
from knotwork.testing._brains import RuleBrain
from knotwork.testing._chat_models import ScriptedChatModel


def brained(wrap=lambda request, reply: reply):
    brain = RuleBrain()
    return ScriptedChatModel(lambda request: wrap(request, brain(request.messages)))


def documents_of(texts):
    return [Document(uri, text, title=uri) for uri, text in texts.items()]
