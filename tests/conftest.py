"""The same examples in each run, and no deadline: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("nbagent", deadline=None, derandomize=True, database=None)
settings.load_profile("nbagent")
