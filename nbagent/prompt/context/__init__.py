"""Context: pieces of outside text for a prompt, where they come from, and which of them go in."""
