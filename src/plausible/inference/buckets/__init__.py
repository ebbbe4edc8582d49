"""Mini-buckets: bounds on sums, maxima and both from elimination with tables of limited size."""
