"""Who may use the Admin page, asked anew at every call."""

from __future__ import annotations

import gradio as gr

from rtv_core.accounts import Accounts
from rtv_core.errors import InputError, RtvError
from rtv_core.ui.session import signed_name

__all__ = ["Access"]

REFUSED = "Only admins may see this page. Ask whoever runs the server for `accounts add NAME --admin`."


class Access:
    """With a sign-in the page is for those whose account is an admin's now; without one, for everyone.

    Without a sign-in only this machine reaches the server. `shared` pages without `accounts` are for nobody.
    """

    def __init__(self, shared: bool, accounts: Accounts | None = None) -> None:
        self.shared = shared or accounts is not None
        self.accounts = accounts

    def allows(self, request: gr.Request | None) -> bool:
        """Whether whoever sent the request may use the page; nobody if the accounts can't be read."""
        if not self.shared:
            return True
        name = signed_name(request)
        if not name or self.accounts is None:
            return False
        try:
            return name in self.accounts.admins()
        except RtvError:
            return False

    def check(self, request: gr.Request | None) -> None:
        """Raises InputError unless `allows`."""
        if not self.allows(request):
            raise InputError(REFUSED)
