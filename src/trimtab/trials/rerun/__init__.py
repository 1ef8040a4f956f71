"""A recording simulated again, beside what really happened: how true is the simulator?"""
