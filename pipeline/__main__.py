"""`python -m pipeline` is `gieok`."""

from pipeline.start import main

if __name__ == "__main__":
    main()
