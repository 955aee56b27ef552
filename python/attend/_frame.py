"""A page inside a notebook."""

from __future__ import annotations

import html


def frame(page: str) -> str:
    """A frame as high as its page, up to a screen: the page's styles do not reach the notebook's."""
    fit = "this.style.height=Math.min(this.contentDocument.documentElement.scrollHeight+8,900)+'px'"
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" onload="{fit}" '
        'style="width:100%;height:32em;border:0"></iframe>'
    )
