"""The Compare page: one question through several systems, side by side.

actions   the question is asked, and one system after the other answers
render    the form, and the table: who found what, and where the others lost it
page      layout, then wiring
"""

from rtv_core.ui.compare.page import add_compare

__all__ = ["add_compare"]
