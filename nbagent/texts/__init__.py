"""Texts: what nbagent itself says to a model, in packs by language."""
