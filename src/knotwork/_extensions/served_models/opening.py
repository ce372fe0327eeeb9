"""Open the models of servers from their settings: one function for each scheme of names."""

from __future__ import annotations

from dataclasses import replace

from knotwork._config import EmbeddingSettings, LlmSettings, RerankSettings
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._extensions.served_models.http import ModelServer, ServerOptions
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder


def open_openai_chat(model: str, settings: LlmSettings) -> ChatModel:
    """Open a language model on a server with the interface of OpenAI."""
    server = ModelServer(settings.base_url, **_server_options(settings))
    return open_chat(model, server, settings, scheme="openai")


def open_ollama_chat(model: str, settings: LlmSettings) -> ChatModel:
    """Open a language model of Ollama, by Ollama's own interface."""
    from knotwork._extensions.served_models.native import OLLAMA_CONTEXT, OllamaServer

    settings = replace(
        settings, api_version="", context_window=settings.context_window or OLLAMA_CONTEXT
    )
    options = _server_options(settings)
    server = OllamaServer(settings.base_url, context=settings.context_window, **options)
    return open_chat(model, server, settings, scheme="ollama")


def open_anthropic_chat(model: str, settings: LlmSettings) -> ChatModel:
    """Open a language model of Anthropic, by Anthropic's own interface."""
    from knotwork._extensions.served_models.native import AnthropicServer

    options = _server_options(replace(settings, api_version=""))
    server = AnthropicServer(settings.base_url, **options)
    return open_chat(model, server, settings, scheme="anthropic")


def open_chat(model: str, server: ModelServer, settings: LlmSettings, *, scheme: str) -> ChatModel:
    """Return the client of a model on a server, with the settings of calls."""
    return OpenAIChat(
        model,
        server,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        context_window=settings.context_window,
        extra_body=settings.extra_body,
        scheme=scheme,
    )


def open_openai_embedder(model: str, settings: EmbeddingSettings) -> Embedder:
    """Open an embedder on a server with the interface of OpenAI."""
    from knotwork._extensions.served_models.embedding_prefixes import choose_prefixes
    from knotwork._extensions.served_models.embeddings import OpenAIEmbedder

    server = ModelServer(settings.base_url, **_server_options(settings) | {"section": "embedding"})
    query, document = settings.query_prefix, settings.document_prefix
    return OpenAIEmbedder(
        model,
        server,
        dimension=settings.dimension,
        concurrency=settings.concurrency,
        embeds_sentences=settings.sentences,
        prefixes=choose_prefixes(model, query=query, document=document),
        extra_body=settings.extra_body,
    )


def _server_options(settings: EmbeddingSettings | LlmSettings) -> ServerOptions:
    return {
        "api_key": settings.api_key,
        "timeout_s": settings.timeout_s,
        "extra_headers": settings.extra_headers,
        "api_version": settings.api_version,
    }


def open_served_reranker(model: str, settings: RerankSettings) -> Reranker:
    """Open a reranker on a server."""
    from knotwork._extensions.served_models.rerank import ServedReranker

    server = ModelServer(
        settings.base_url,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        section="rerank",
    )
    # A user is waiting, and the search works without reranking: retry only once, and soon.
    return ServedReranker(model, server, retries=RetryPolicy(attempts=2, patience_s=2.0))
