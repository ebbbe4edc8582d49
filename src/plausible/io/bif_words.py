"""What BIF can write as it is: identifiers, and values of properties, which end at the first semicolon."""

from __future__ import annotations

import json
import re
from typing import Final

from plausible.io.property_texts import Dialect

__all__ = ["PLACEHOLDER", "PROPERTIES", "legal", "legal_state", "quotable", "safe_json", "unquoted"]

#: What programs write where a network has no name.
PLACEHOLDER: Final = "unknown"

_KEYWORDS: Final = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_OF_WORDS: Final = re.compile(r"[^A-Za-z0-9_.-]")
_INTEGER: Final = re.compile(r"-?[0-9]+")
_CONTROL: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_NOT_QUOTABLE: Final = re.compile(f'["{_CONTROL}]')
_NOT_LITERAL: Final = re.compile(f"//|/\\*|[;{_CONTROL}]")


def legal(name: str) -> str:
    """A word that every reader of BIF takes for a name, and that looks like the name.

    >>> legal("smoking status"), legal("2nd"), legal("table"), legal("x.max")
    ('smoking_status', '_2nd', '_table', 'x.max')
    """
    text = _NOT_OF_WORDS.sub("_", name)
    return text if _WORD.fullmatch(text) and text not in _KEYWORDS else f"_{text}"


def legal_state(state: str) -> str:
    """The same for a state, which may also be a whole number.

    >>> legal_state("3"), legal_state("<5")
    ('3', '_5')
    """
    return state if _INTEGER.fullmatch(state) else legal(state)


def quotable(name: str) -> str:
    """The name with what can't stand between quotation marks replaced.

    >>> quotable('say "hi"')
    'say _hi_'
    """
    return _NOT_QUOTABLE.sub("_", name)


def unquoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' and text.count('"') == 2 else text


def safe_json(text: str) -> str:
    """JSON without semicolons, which end a property, and slashes, which may begin a comment.

    >>> safe_json('"a;b"')
    '"a\\\\u003bb"'
    """
    return text.replace(";", "\\u003b").replace("/", "\\u002f")


#: How properties are written.
PROPERTIES: Final = Dialect(lambda text: not _NOT_LITERAL.search(text), lambda value: safe_json(json.dumps(value)))
