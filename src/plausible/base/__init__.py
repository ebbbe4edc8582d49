"""What every room stands on: options, seeds, array types, tolerances, frozen values, texts and tables for people."""
