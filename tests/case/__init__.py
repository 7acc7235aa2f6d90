"""A package, so that tests can share what they compare and exercise."""
