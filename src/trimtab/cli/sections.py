"""The commands by what they are for, a line each that fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

#: Section → command → what it does.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "What happened": {
        "explain": "What a cluster's balancer did: one page, offline",
        "blame": "What happened to one broker or one bundle",
        "trends": "Many nights: what changed over weeks, and whether it helped",
        "lint": "Traps, slips and defaults that bite in a broker.conf",
        "help": "What a finding, a strategy, a setting or an outcome means",
    },
    "What would have happened, what would happen": {
        "compare": "Strategies and settings, on a recording or a scenario",
        "rehearse": "Whether what is planned is safe, on the recorded load",
        "size": "How many brokers carry the recorded load, and the loss of one",
        "rerun": "Whether the replay of a recording is true",
        "restart-plan": "In which order to restart brokers, and how high usage gets",
    },
    "What a bundle costs": {
        "costs": "What traffic costs the brokers, learned from a recording",
        "backtest": "How well moves are predicted, on recorded nights",
    },
    "A live cluster": {
        "gather": "Record it into a folder that explain takes",
        "watch": "Decide each round beside its balancer, with metrics",
        "plan": "The few moves worth making",
        "apply": "Carry out a plan: one bundle at a time, each verified",
        "drain": "Empty a broker before it is restarted",
        "rollout": "Restart brokers one after the other, each emptied first",
    },
    "The laboratory": {
        "simulate": "One experiment, round by round",
        "sweep": "A grid of scenarios, strategies, settings and seeds",
        "reproduce": "Published experiments, beside what was published",
        "rate": "The strategies by what is measured",
        "record": "Write the recording that a simulated cluster would leave",
        "decide": "Rounds of load, decided as Pulsar's own class would",
    },
    "The pipeline": {
        "ingest": "Recordings into Parquet tables, every line accounted for",
    },
}
