"""Lower bounds on log Z by distributions that are easier to handle."""
