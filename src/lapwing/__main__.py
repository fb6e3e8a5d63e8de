"""``python -m lapwing``, where the command is not on the path."""

from .cli import main

main()
