"""`python -m plausible.cli`: the program `plausible` by the name of its package."""

from plausible.cli import main

if __name__ == "__main__":
    main()
