"""`python -m finsler`: the command line where it is not installed as a program."""

from finsler.cli.main import main

if __name__ == "__main__":
    main()
