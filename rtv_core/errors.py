"""What can go wrong that a person can mend.

    RtvError                 the root: caught by the command line and the page's handlers
    |-- InputError           a question, file or argument that can't be used
    |-- SettingError         an unknown setting or a value out of range
    |-- MissingError         an index, model, run or package that isn't there
    |-- MismatchError        parts that don't belong together (an index of another encoder, a changed file)
    `-- StoreError           a judgement that could not be saved or read

A message says what is wrong, with its value, and then what to do. Anything that is not an RtvError is a bug
and keeps its traceback.
"""

__all__ = ["InputError", "MismatchError", "MissingError", "RtvError", "SettingError", "StoreError"]


class RtvError(Exception):
    """Something a person can mend; `str()` is the whole message."""


class InputError(RtvError):
    """A question, file or argument that can't be used."""


class SettingError(RtvError):
    """An unknown setting or a value out of range."""


class MissingError(RtvError):
    """An index, model, run or package that isn't there."""


class MismatchError(RtvError):
    """Parts that don't belong together."""


class StoreError(RtvError):
    """A judgement that could not be saved or read."""
