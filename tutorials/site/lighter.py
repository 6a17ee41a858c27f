"""A Sphinx extension that makes the site smaller: small pictures, short navigation on code pages, no unused markup."""

import base64
import io
import re
import sys
from pathlib import Path

from PIL import Image

CODE_PAGES = ("_modules/", "generated/api/nfa.", "generated/certificates")
SIGN = re.compile(r'\s*<symbol id="([^"]+)".*?</symbol>', re.DOTALL)
UNCOLOURED = re.compile(r'<span class="[nwpo]">([^<]*)</span>')  # names, spaces, brackets and operators have no colour
AS_IT_STANDS = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)  # elements in which blanks matter
INDENT = re.compile(r"\s*\n\s*")
BELOW = re.compile(r'<input [^>]*class="toctree-checkbox".*?</label>|<ul>\s*<li class="toctree-l2.*?</ul>', re.DOTALL)


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", _short_navigation, priority=950)  # after furo has made the navigation
    app.connect("build-finished", _pictures)
    app.connect("build-finished", _markup)
    app.connect("viewcode-follow-imported", _own_code)
    return {"parallel_read_safe": True}


def _own_code(app, modname: str | None, attribute: str) -> str | None:
    """The module itself for an object of another package's class, such as a partial, because it needs no code page."""
    if modname is None:
        return None
    value = sys.modules.get(modname)
    for name in attribute.split("."):
        value = getattr(value, name, None)
    home = getattr(value, "__module__", None) or ""
    return None if home.partition(".")[0] == modname.partition(".")[0] else modname


def smaller(png: bytes) -> bytes:
    """A picture with the 256 nearest colours, if this picture is smaller.

    Figures have few colours, and the edges of letters have shades of these colours. So readers see no difference.
    """
    with Image.open(io.BytesIO(png)) as picture:
        whole = picture.convert("RGBA")
    if whole.getextrema()[3] == (255, 255):  # no transparent pixel
        few = whole.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    else:
        few = whole.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(out := io.BytesIO(), "PNG", optimize=True)
    return min(png, out.getvalue(), key=len)


def smaller_outputs(outputs: list[dict]) -> None:
    """Make the pictures in the outputs of a notebook cell smaller."""
    for output in outputs:
        data = output.get("data", {})
        if "image/png" in data:
            data["image/png"] = base64.b64encode(smaller(base64.b64decode(data["image/png"]))).decode()


def _pictures(app, exception) -> None:
    if exception is None and app.builder.name == "html":
        for path in sorted((Path(app.outdir) / "_images").glob("*.png")):
            path.write_bytes(smaller(path.read_bytes()))


def lighter(page: str) -> str:
    """A page without invisible parts: unused icons of the theme, code marks without a colour, indents of the markup."""
    page = SIGN.sub(lambda sign: sign[0] if f'href="#{sign[1]}"' in page else "", page)
    page = UNCOLOURED.sub(r"\1", page)
    parts = AS_IT_STANDS.split(page)  # other text, a kept part, its tag, other text, ...
    return "".join(INDENT.sub("\n", beside) + kept for beside, kept in zip(parts[::3], [*parts[1::3], ""], strict=True))


def _markup(app, exception) -> None:
    if exception is None and app.builder.name == "html":
        for path in Path(app.outdir).rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            if (fewer := lighter(text)) != text:
                path.write_text(fewer, encoding="utf-8")


def _short_navigation(app, pagename, templatename, context, doctree) -> None:
    """Keep only the first level of the navigation on code pages, because there are hundreds of them."""
    if pagename.startswith(CODE_PAGES):
        context["furo_navigation_tree"] = BELOW.sub("", context.get("furo_navigation_tree", ""))
