"""Indexes with things under several names, and judges that know which are one."""

from __future__ import annotations

import re

import knotwork
from knotwork._extensions.model_indexing.judge import Judge
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.resolution.resolver import resolve_entities
from knotwork._text.names import normal_form
from knotwork.records import Document, entity_id

PAIR = re.compile(r"^(\d+)\. (.+?) \|\| (.+)$", re.MULTILINE)

TEXTS = {
    "who.txt": "The World Health Organization (WHO) sent help to Kenya. Later the WHO thanked "
    "Kenya. The World Health Organization has its seat in Geneva.",
    "curie.txt": "Marie Curie worked in Paris. In the evening Curie walked home through Paris. "
    "Doctors in Paris admired Marie Curie.",
    "acme.txt": "Acme Turbines Inc. built a plant in Leeds. Engineers praised Acme Turbines for "
    "the plant in Leeds.",
    "data.txt": "Graph Databases store what Graph Database vendors in Leeds sell to Kenya.",
    "minister.txt": "President Anna Keller met farmers in Geneva. Anna Keller promised help.",
    "who2.txt": "In Kenya the WHO opened an office. World Health Organisation staff came to Leeds.",
    "smith.txt": "John Smith lives in Leeds. His rival James Smith lives in Paris.",
    "series.txt": "Comet Engine 2 was shown in Paris. Comet Engine 3 was shown in Leeds.",
    "harbour.txt": "The Montgomery Harbour Trust rents rooms to the Helsingfors Theatre in Leeds.",
    "theatre.txt": "In Paris the Montgomery Harbor Trust bought the Helsingfors Theater.",
    "联通.txt": "中国联合网络通信股份有限公司（以下简称中国联通）位于北京市。"
    "中国联通在北京发布了报告。",
}


def document(uri, texts=TEXTS):
    return Document(uri, texts[uri])


def make_index(uris=TEXTS, path="memory:", texts=TEXTS):
    base = knotwork.open(path, embedding_model="none")
    base.index_documents([document(uri, texts) for uri in uris])
    return base


def ids_in(store, document_id):
    mentions = store.graph.mentions(store.documents.chunk_ids_of([document_id])[document_id])
    return {mention.entity_id for found in mentions.values() for mention in found}


def add(base, uri, texts=TEXTS):
    """Index one more document, and note what it touched as the pipeline does."""
    given = document(uri, texts)
    base.index_documents([given])
    base.store.resolutions.touch(ids_in(base.store, given.id))


def idof(name):
    return entity_id(normal_form(name))


def groups_by_name(store):
    """Return the names of each thing that has several, as sets."""
    groups = store.resolutions.groups()
    entities = store.graph.entities(groups)
    found = {}
    for entity, canonical in groups.items():
        found.setdefault(canonical, set()).add(entities[entity].name)
    return sorted((frozenset(names) for names in found.values()), key=sorted)


def shown_pairs(request):
    return [(int(n), one, other) for n, one, other in PAIR.findall(request.messages[-1].content)]


def judge_by(is_same, **options):
    """Return a judge whose verdict is a function of the two names, and its model."""

    def reply(request):
        return "\n".join(
            f"{n} | {'same' if is_same(one.split(':')[0], other.split(':')[0]) else 'different'}"
            for n, one, other in shown_pairs(request)
        )

    model = ScriptedChatModel(reply)
    return Judge(model, **options), model


def resolved(uris=TEXTS, judge=None, texts=TEXTS):
    base = make_index(uris, texts=texts)
    return base, resolve_entities(base.store, judge=judge)
