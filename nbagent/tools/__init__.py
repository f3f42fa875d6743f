"""Tools: functions a model may call, and what comes back as text."""
