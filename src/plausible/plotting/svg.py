"""Pictures as SVG: one file or a piece of a page, with no script, no fonts and nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from plausible.base.records import one_line
from plausible.plotting.measuring import FONTS, known_width
from plausible.plotting.palette import PALETTE
from plausible.plotting.parts import Box, Item, Part, Path, Sheet, Text

_DASHES = "5 4"
#: How notebooks (Jupyter, VS Code, Colab) and sites (Material for MkDocs, Zensical) say that they are light or dark.
_PAGES = {
    "light": ":is([data-jp-theme-light=true],.vscode-light,[theme=light],[data-md-color-scheme=default])",
    "dark": ":is([data-jp-theme-light=false],.vscode-dark,[theme=dark],[data-md-color-scheme=slate])",
}
_PAINTS = {"f": "fill", "s": "stroke"}
_COLOURS: dict[str, tuple[str, str]] = {str(name): shades for name, shades in PALETTE.items()}
#: What assistive technology is told of each kind of part.
_ROLES = {"node": "graphics-object", "edge": "graphics-symbol", "plate": "graphics-object", "note": "note"}


def svg_text(picture: Sheet, label: str) -> str:
    """The text of an SVG file under a label. Names are text and nothing but text, whatever they hold."""
    width, height = _number(picture.width), _number(picture.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plausible-picture" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="graphics-document" aria-label="{_escaped(label)}">'
    )
    body = "\n".join(map(_part, picture.parts))
    paper = f'<rect class="f-paper" width="{width}" height="{height}"/>'
    return f"{head}\n<style>{_style(picture)}</style>\n{paper}\n{body}\n</svg>\n"


def _style(picture: Sheet) -> str:
    """The colours in use as classes, light and dark, all below the class of the picture: a page keeps its own."""
    used = dict.fromkeys(
        ["f-paper", *(name for part in picture.parts for item in part.items for name in _classes(item))]
    )
    fonts = ",".join(f"'{font}'" if " " in font else font for font in FONTS)
    base = f".plausible-picture{{max-width:100%;height:auto;font-family:{fonts};color-scheme:light dark}}"
    # Pages that say whether they are dark are believed, before the system is.
    known = (f"{page} .plausible-picture{{color-scheme:{scheme}}}" for scheme, page in _PAGES.items())
    return "".join([base, *known, *map(_rule, used)])


def _rule(name: str) -> str:
    kind, colours = _PAINTS[name[0]], _COLOURS[name[2:]]
    # Programs that know no light-dark take the light colour.
    return f".plausible-picture .{name}{{{kind}:{colours[0]};{kind}:light-dark({colours[0]},{colours[1]})}}"


def _classes(item: Item) -> list[str]:
    if isinstance(item, Text):
        return [f"f-{item.colour}"]
    return [f"{kind}-{colour}" for kind, colour in (("f", item.fill), ("s", item.stroke)) if colour]


def _part(part: Part) -> str:
    title = _escaped(part.title)
    items = "".join(_WRITERS[type(item)](item) for item in part.items)
    label = f' aria-label="{title}"' if title else ""
    tooltip = f"<title>{title}</title>" if title and part.kind != "note" else ""
    return f'<g class="{part.kind}" role="{_ROLES[part.kind]}"{label}>{tooltip}{items}</g>'


def _painted(item: Box | Path) -> str:
    """The attributes of what is filled or has an outline."""
    fill = "" if item.fill else ' fill="none"'
    width = f' stroke-width="{_number(item.thickness)}"' if item.stroke and item.thickness != 1 else ""
    dashes = f' stroke-dasharray="{_DASHES}"' if item.is_dashed else ""
    return f' class="{" ".join(_classes(item))}"{fill}{width}{dashes}'


def _box(box: Box) -> str:
    painted = _painted(box)
    x, y, width, height = box.x, box.y, box.width, box.height
    if box.shape == "oval":
        numbers = (x + width / 2, y + height / 2, width / 2, height / 2)
        named = zip(("cx", "cy", "rx", "ry"), numbers, strict=True)
        return f"<ellipse{_attributes(named)}{painted}/>"
    if box.shape == "rhombus":
        points = ((x + width / 2, y), (x + width, y + height / 2), (x + width / 2, y + height), (x, y + height / 2))
        return f'<polygon points="{" ".join(map(_pair, points))}"{painted}/>'
    named = zip(("x", "y", "width", "height"), (x, y, width, height), strict=True)
    round_ = f' rx="{_number(box.radius)}"' if box.radius else ""
    return f"<rect{_attributes(named)}{round_}{painted}/>"


def _path(path: Path) -> str:
    first, *rest = map(_pair, path.points)
    tail = f"C{' '.join(rest)}" if path.is_curved else f"L{' '.join(rest)}"
    end = "Z" if path.fill else ""
    return f'<path d="M{first}{tail}{end}"{_painted(path)}/>'


def _text(text: Text) -> str:
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    weight = ' font-weight="bold"' if text.is_bold else ""
    named = zip(("x", "y", "font-size"), (text.x, text.y, text.size), strict=True)
    # In a wider font than boxes are measured for, it is as wide all the same.
    width = known_width(text.text, text.size, text.is_bold)
    weight += f' textLength="{_number(width)}" lengthAdjust="spacingAndGlyphs"' if width else ""
    return f'<text{_attributes(named)}{anchor}{weight} class="f-{text.colour}">{_escaped(text.text)}</text>'


_WRITERS: dict[type, Callable[..., str]] = {Box: _box, Path: _path, Text: _text}


def _attributes(named: Iterable[tuple[str, float]]) -> str:
    return "".join(f' {name}="{_number(value)}"' for name, value in named)


def _pair(point: tuple[float, float]) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _escaped(text: str) -> str:
    """Text that no sign of can end where it stands, and that holds no sign that XML forbids; line breaks stay."""
    return escape("\n".join(one_line(line) for line in text.split("\n")))
