"""Formatters: fields become the text of a prompt, and a model's answer becomes a dict.

`known` gives them by name, `use` lets any object be one; the others are one formatter each, or what they are made of.
"""
