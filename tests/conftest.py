"""Laws are tried on the same examples every time: a check that passed yesterday must not fail on other dice today.

To look for new counter-examples, run with ``--hypothesis-profile=nightly``, which rolls other dice every time.
"""

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("nightly", derandomize=False, deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("same")
