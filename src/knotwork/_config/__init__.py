"""Settings: a frozen tree, read from `knotwork.toml`, the environment and arguments.

No other package reads the environment.
"""

from knotwork._config.loading import (
    CONFIG_FILE,
    Loaded,
    load_settings,
    render_config,
    write_default_config,
)
from knotwork._config.setting_values import AUTO, SecretRef, SettingTable, is_server_url, shown_url
from knotwork._config.settings import (
    AnswerSettings,
    CommunitySettings,
    EmbeddingSettings,
    ExtractionSettings,
    GraphSettings,
    IndexSettings,
    LlmSettings,
    QuerySettings,
    RerankSettings,
    RetrievalSettings,
    ServiceSettings,
    Settings,
    StoreSettings,
    fingerprint,
)

__all__ = [
    "AUTO",
    "CONFIG_FILE",
    "AnswerSettings",
    "CommunitySettings",
    "EmbeddingSettings",
    "ExtractionSettings",
    "GraphSettings",
    "IndexSettings",
    "LlmSettings",
    "Loaded",
    "QuerySettings",
    "RerankSettings",
    "RetrievalSettings",
    "SecretRef",
    "ServiceSettings",
    "SettingTable",
    "Settings",
    "StoreSettings",
    "fingerprint",
    "is_server_url",
    "load_settings",
    "render_config",
    "shown_url",
    "write_default_config",
]
