"""Fixtures and settings of all tests."""

import signal

from hypothesis import settings

# A test that takes longer on a busy machine has found nothing: no deadline by the clock.
settings.register_profile("knotwork", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=15)
settings.load_profile("knotwork")

# Run in the background by a shell, tests are started with Ctrl-C ignored, and would hand that on
# to the programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
