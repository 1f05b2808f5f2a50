"""Check a built site without a network: links and their anchors lead somewhere, nothing is loaded from elsewhere."""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = dict.fromkeys(("script", "img", "iframe", "source", "video"), "src") | {
    "link": "href",
    "object": "data",
}
"""What a browser loads without being asked, by tag."""


class Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag leads to, loads and is called."""
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        if (
            tag in LOADED
            and LOADED[tag] in values
            and values.get("rel") not in ("canonical", "search", "next", "prev")
        ):
            self.loaded.add(values[LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield one line for every broken link and everything that would be loaded from elsewhere."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for address in sorted(page.links | page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    yield f"{path.relative_to(site)} loads {address}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{path.relative_to(site)} leads to {address}, which is no file"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)} leads to {address}, whose page has no such anchor"
    for path in sorted(site.rglob("*.css")):
        for address in re.findall(
            r"(?:@import\s*|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", path.read_text()
        ):
            yield f"{path.relative_to(site)} loads {address}"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n")
    sys.exit(bool(found))
