"""Lets the tests of this folder import the helpers beside them (`io` itself is a module of Python)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
