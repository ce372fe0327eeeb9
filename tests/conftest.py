"""What holds for all tests."""

from hypothesis import settings

# A test that takes longer on a busy machine has found nothing: no deadline by the clock.
settings.register_profile("knotwork", deadline=None)
settings.load_profile("knotwork")
