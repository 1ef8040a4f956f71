"""A recording or a broker.conf → what was wrong: findings, page, one bundle's story, slips.

`explain` is the main job; `blame` follows one bundle or broker through it; `lint` knows the
slips of a configuration, and `conf_files` reads the files for it.
"""
