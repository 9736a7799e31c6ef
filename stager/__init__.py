"""Stage a candidate engine beside production, measure it, put production back."""

__version__ = "0.1.0"
