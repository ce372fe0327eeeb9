"""The security headers of every response, with a content policy for pages and one for data."""

from __future__ import annotations

_PAGE_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_DATA_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
)
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def is_page(path: str) -> bool:
    """Return True if a path belongs to the web pages."""
    return path in ("/", "/ui") or path.startswith("/ui/")


def security_headers(path: str = "") -> dict[str, str]:
    """Return the headers of a response to a request of this path; "" means that it has none.

    Everything but the files of the web pages must not be stored by caches.
    """
    if is_page(path):
        return {"Content-Security-Policy": _PAGE_POLICY, **_HEADERS}
    return {
        "Content-Security-Policy": _DATA_POLICY,
        "Cache-Control": "no-store",
        **_HEADERS,
    }
