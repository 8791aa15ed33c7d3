"""Anchors of headings, as code forges derive them."""

import re


def slug(title: str, separator: str) -> str:
    """The anchor of a heading."""
    text = re.sub(r"<[^>]+>|`", "", title.lower().strip())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", separator)
