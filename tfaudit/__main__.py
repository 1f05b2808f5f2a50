"""`python -m tfaudit`."""

from tfaudit.cli import main

if __name__ == "__main__":
    main()
