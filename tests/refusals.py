"""What is refused, and with which words."""

from __future__ import annotations

import pytest


def refuses(error, match, call, *arguments, **options):
    """The call raises this error, whose text matches."""
    with pytest.raises(error, match=match):
        call(*arguments, **options)
