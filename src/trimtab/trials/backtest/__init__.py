"""A cluster, walked through in time → predictions beside what came of them."""
