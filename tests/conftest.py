"""The same examples in each run, and no deadline: a busy machine is no failure."""

import gc

from hypothesis import settings

settings.register_profile("nbagent", deadline=None, derandomize=True, database=None)
settings.load_profile("nbagent")


def pytest_unconfigure():
    """IPython clears each shell at exit, and collects garbage each time: where all tests have run, for minutes."""
    gc.freeze()
