"""`python -m bench.rehearsal_stages RECORDING EVENT OUTPUT CORES`: rehearses, and times stages.

A process of its own, kept to so many cores with all that it starts, as `bench.stages` is.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from bench.stages import Watch
from trimtab.ingest.recording import open_recording
from trimtab.spark.session import started
from trimtab.trials.rehearse.command import Question, courses_run, prepared
from trimtab.trials.rerun.command import reconstructed

#: In their order; the first is Java's start.
STAGES = ("start", "read and rebuild", "replay what happened", "both courses", "remedies")


def main(recording: str, event: str, output: str, cores: str) -> None:
    """Print the times of the stages as JSON."""
    os.sched_setaffinity(0, range(int(cores)))
    with ExitStack() as stack:
        opened = stack.enter_context(open_recording(Path(recording)))
        watch, question, out = Watch(), Question(recording, (event,)), Path(output)
        spark = watch.stage("start", lambda: started(cores=int(cores)))
        night = watch.stage("read and rebuild", lambda: reconstructed(spark, opened))
        whole = watch.stage(
            "replay what happened", lambda: prepared(spark, night, question.planned(), question)
        )
        alone = replace(whole, remedies=())
        watch.stage("both courses", partial(courses_run, spark, alone, out))
        # What has been run is not run again.
        document = watch.stage("remedies", partial(courses_run, spark, whole, out))
        spark.stop()
        told = {
            "answer": document["answer"],
            "is_trusted": document["fidelity"]["is_trusted"],
            "seeds": whole.n_seeds,
            "remedies": len(document["remedies"]),
            "runs": 2 * whole.n_seeds + sum(each["count"] for each in document["remedies"]),
            "wall_s": watch.wall_s,
            "cpu_s": {name: asdict(each) for name, each in watch.cpu_s.items()},
            "peak_bytes": watch.peak_bytes,
        }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
