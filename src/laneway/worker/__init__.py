"""A worker process: `worker.py` builds the parts and stops them in order; start reading there."""
