"""A recorded or simulated cluster, walked through in time → predictions beside what came of them."""
