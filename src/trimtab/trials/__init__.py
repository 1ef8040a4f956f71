"""Many runs → verdicts: strategies compared, rated, replayed, checked."""
