"""Tables → rounds decided again → findings, and what the recording cannot answer."""

from trimtab.diagnose.diagnosis import Diagnosis, diagnose
from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.verdicts import VERDICT_WORDS

__all__ = ["FINDINGS", "VERDICT_WORDS", "Diagnosis", "diagnose"]
