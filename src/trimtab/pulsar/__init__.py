"""What brokers report → what Pulsar decides, copied exactly: scores, strategies, the leader.

From the ground up: names and orders (`model`, `releases`, `map_order`, `tim_sort`, `confs`,
`keys`, `bundles`), `settings`, `scores`, then what decides (`shed`, `place`, `candidates`) and
what its leader knows (`leader`), and whole sequences of rounds (`sequences`).
"""
