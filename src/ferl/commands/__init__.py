"""What the commands ``ferl fit``, ``ferl predict`` and ``ferl inspect`` do; :mod:`ferl.cli` has their options."""
