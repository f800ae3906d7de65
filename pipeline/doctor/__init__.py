"""`gieok doctor`: looks after an installation and a store, says how to mend what it finds, and mends it if asked."""

from pipeline.doctor.checks import diagnose
from pipeline.doctor.findings import Diagnosis, Finding

__all__ = ["Diagnosis", "Finding", "diagnose"]
