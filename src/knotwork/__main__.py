"""`python -m knotwork` is the command `knotwork`."""

from knotwork._cli.main import main

if __name__ == "__main__":
    main()
