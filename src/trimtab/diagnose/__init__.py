"""Tables → rounds decided again → findings, and what the recording cannot answer."""

from trimtab.diagnose.diagnosis import Diagnosis, diagnose
from trimtab.diagnose.findings import FINDINGS

__all__ = ["FINDINGS", "Diagnosis", "diagnose"]
