"""Collections of tables that Python packages bring along."""
