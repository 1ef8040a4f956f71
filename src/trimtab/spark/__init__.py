"""Tasks → who runs them: this process, or the one Spark session with its Java and its workers."""
