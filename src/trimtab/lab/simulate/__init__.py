"""A scenario → what a simulated Pulsar cluster and its leader do, tick by tick, round by round."""
