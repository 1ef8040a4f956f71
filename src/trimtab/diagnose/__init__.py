"""Tables → rounds → recomputed decisions → findings."""

from trimtab.diagnose.diagnosis import Diagnosis, diagnose
from trimtab.diagnose.findings import FINDINGS

__all__ = ["FINDINGS", "Diagnosis", "diagnose"]
