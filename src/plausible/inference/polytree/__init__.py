"""Pearl's messages on polytrees, and how other networks become polytrees."""
