"""The do-calculus: three rules that trade interventions for observations, and derivations made of them."""
