"""`python -m plausible`: the program `plausible`."""

from plausible.cli import main

if __name__ == "__main__":
    main()
