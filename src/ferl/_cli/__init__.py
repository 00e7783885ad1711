"""What the commands ``ferl fit``, ``ferl predict`` and ``ferl inspect`` do; :mod:`ferl._cli.app` has their options."""
