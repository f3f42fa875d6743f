"""Opened: how a model was asked for, so that a part of it can be changed."""

from __future__ import annotations

from typing import Any

from nbagent.values import Struct


class Opened(Struct, frozen=True):
    """The arguments of `open_model`."""

    model: str | None = None
    base_url: str | None = None
    api: str | None = None
    api_key_env: str | None = None
    params: dict[str, Any] | None = None
