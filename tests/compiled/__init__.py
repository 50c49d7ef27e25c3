"""What a wheel has compiled decides as the source does. `make test-compiled` builds it and runs these."""
