"""Recordings, a broker.conf or a word → what was wrong, one bundle's story, slips, its page.

`explain` is the main job, `fleet` does it with many, and `trends` looks across them; `blame`
follows one bundle or broker through it; `lint` knows the slips of a configuration, and
`conf_files` reads the files for it; `words` has what words mean.
"""
