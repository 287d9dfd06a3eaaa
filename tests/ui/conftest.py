"""Lets the tests of the pages use the fakes that lie one folder up, as the other tests do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
