"""The notebook: how cells become runs."""

MAGICS = ("agent",)
"""The cell magics."""
