"""Pulsar's own strategy classes as the judge of ours: see the README of this folder."""
