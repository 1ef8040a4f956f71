"""What can be wrong with a built site: files that are not there, and addresses of the network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a reader follows; everything else with an address is loaded without being asked for.
_FOLLOWED = {"a", "form"}
_ADDRESSES = ("href", "src", "srcset", "action")
#: What a page tells of itself, which nothing loads.
_TOLD = {"canonical", "next", "prev"}


class _Addresses(HTMLParser):
    """The addresses of a page, each with whether a browser loads it by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the addresses of one element."""
        attributes = dict(attrs)
        is_loaded = tag not in _FOLLOWED and attributes.get("rel") not in _TOLD
        for name in _ADDRESSES:
            if address := attributes.get(name):
                self.addresses.append((address, is_loaded))


def faults(html: Path) -> list[str]:
    """Return a line for whatever a page of the site loads from elsewhere or does not have."""
    return [
        f"{page.relative_to(html)}: {fault}"
        for page in sorted(html.rglob("*.html"))
        for address, is_loaded in _addresses(page)
        if (fault := _fault(html, page, address, is_loaded))
    ]


def _addresses(page: Path) -> list[tuple[str, bool]]:
    """Return the addresses of a page, each once."""
    parser = _Addresses()
    parser.feed(page.read_text(encoding="utf-8"))
    return list(dict.fromkeys(parser.addresses))


def _fault(html: Path, page: Path, address: str, is_loaded: bool) -> str:
    """Return what is wrong with an address, or nothing."""
    parts = urlsplit(address)
    if parts.scheme == "data":
        return ""
    if parts.scheme or parts.netloc:
        return f"loads {address} from the network" if is_loaded else ""
    # The page for addresses that are not there may be shown at any address.
    folder = html if address.startswith("/") else page.parent
    target = folder / unquote(parts.path).lstrip("/")
    return "" if not parts.path or target.is_file() else f"{address} is not there"
