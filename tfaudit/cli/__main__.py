"""`python -m tfaudit.cli`."""

from tfaudit.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
