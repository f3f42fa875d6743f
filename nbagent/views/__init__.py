"""Views: pure functions from the events of a run to text. Each is made of a `Trace`; none keeps anything."""
