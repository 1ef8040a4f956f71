"""Numbers that were published of an experiment, held against what many seeds give.

Pure: what is run, and where it is written, is the business of `trimtab.reproduce`.
"""
