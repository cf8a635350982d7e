"""``python -m mapreroot``."""

from mapreroot.cli import main

main()
