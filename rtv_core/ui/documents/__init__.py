"""The Documents page: an index from people's own documents; for admins only where people sign in."""

from rtv_core.ui.documents.page import add_documents
from rtv_core.ui.documents.receive import Receiver
from rtv_core.ui.documents.room import Room

__all__ = ["Receiver", "Room", "add_documents"]
