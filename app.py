"""`python app.py` is `python -m rtv_core serve`."""

import sys

from rtv_core.cli import main

if __name__ == "__main__":
    main(["serve", *sys.argv[1:]])
