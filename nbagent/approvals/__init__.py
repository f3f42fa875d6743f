"""Approvals: which tool calls wait for a person, and what a person says about them."""
