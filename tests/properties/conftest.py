"""How much the properties are tried: a little and always the same in ``make test``, and much and afresh in ``make fuzz``."""

import os

from hypothesis import HealthCheck, Phase, settings

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
# An example is a few words, so that a smaller one would say no more and take minutes to find.
AFRESH = {"phases": [Phase.explicit, Phase.reuse, Phase.generate]}
settings.register_profile("test", derandomize=True, database=None, **QUIET)
settings.register_profile("fuzz", **AFRESH, **QUIET)
settings.load_profile("fuzz" if "LAPWING_FUZZ_MINUTES" in os.environ else "test")
