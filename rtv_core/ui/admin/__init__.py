"""The Admin page: who holds and does what, backups, and accounts; for admins only where people sign in."""

from rtv_core.ui.admin.access import Access
from rtv_core.ui.admin.page import add_admin

__all__ = ["Access", "add_admin"]
