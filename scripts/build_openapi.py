"""Write the server's OpenAPI document to a file, for the types of the web pages."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from knotwork._extensions.server import make_app
from knotwork._extensions.server.server import ServerConfig


def describe_api() -> str:
    """Return the document as it is kept: sorted, so that a change shows as what it is."""
    document = make_app(ServerConfig(Path("nowhere"))).openapi()
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main() -> None:
    """Write the document to the file that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.parse_args().target.write_text(describe_api(), encoding="utf-8")


if __name__ == "__main__":
    main()
