"""`python -m rtv_core`."""

from rtv_core.cli import main

main()
