"""How much the properties are tried: a little and always the same in ``make test``, and much and afresh in ``make fuzz``."""

import os

from hypothesis import HealthCheck, Phase, settings

# An example is a few words, so that a smaller one would say no more and take minutes to find.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
USUAL = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True, "phases": PHASES}
settings.register_profile("test", derandomize=True, database=None, **USUAL)
settings.register_profile("fuzz", **USUAL)
settings.load_profile("fuzz" if "LAPWING_FUZZ_MINUTES" in os.environ else "test")
