"""Global search: graphs that no other one beats, or how far from the best they are; orders and equivalence classes."""
