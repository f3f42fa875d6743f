"""The notebook: how cells become runs."""

STRATEGIES = {"agent": None, "plan": "plan", "reflect": "reflection"}
"""The cell magics, and the strategy that each of them means; `%%agent` leaves it to the cell."""
MAGICS = tuple(STRATEGIES)
