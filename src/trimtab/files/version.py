"""The release of this package, which every document that it writes says."""

__version__ = "0.1.0"
