"""Runs the command `trimtab` as `python -m trimtab`."""

from trimtab.cli import main

if __name__ == "__main__":
    main(prog_name="trimtab")
