"""`python -m sixfold` is the command `sixfold`."""

from sixfold_command import main

if __name__ == "__main__":
    main(prog_name="python -m sixfold")
