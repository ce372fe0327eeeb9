"""Settings: one `knotwork.toml`, one frozen tree, and the only place that reads the environment."""

from knotwork.config.fingerprint import fingerprint
from knotwork.config.loading import CONFIG_FILE, Loaded, load_settings
from knotwork.config.secrets import SecretRef
from knotwork.config.settings import (
    AnswerSettings,
    CommunitySettings,
    EmbeddingSettings,
    ExtractionSettings,
    IndexSettings,
    LlmSettings,
    RerankSettings,
    RetrievalSettings,
    ServiceSettings,
    Settings,
    StoreSettings,
)
from knotwork.config.writing import render_config, write_default_config

__all__ = [
    "CONFIG_FILE",
    "AnswerSettings",
    "CommunitySettings",
    "EmbeddingSettings",
    "ExtractionSettings",
    "IndexSettings",
    "LlmSettings",
    "Loaded",
    "RerankSettings",
    "RetrievalSettings",
    "SecretRef",
    "ServiceSettings",
    "Settings",
    "StoreSettings",
    "fingerprint",
    "load_settings",
    "render_config",
    "write_default_config",
]
