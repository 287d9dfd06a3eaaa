"""Warnings that mean a fault of ours fail the tests."""

import warnings

import gradio as gr
import pytest


def test_a_gradio_option_in_the_wrong_place_is_an_error() -> None:
    with pytest.raises(UserWarning, match="moved from the Blocks constructor"):
        gr.Blocks(css="p {}", analytics_enabled=False)


def test_a_deprecation_in_our_own_code_is_an_error() -> None:
    with pytest.raises(DeprecationWarning, match="old"):
        warnings.warn_explicit("old", DeprecationWarning, "text.py", 1, module="rtv_core.text")
