"""A package, so that `comm` is what tests import: the kernel of notebooks brings another of that name."""
