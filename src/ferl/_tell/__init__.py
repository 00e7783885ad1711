"""What people read of a model: statements, pages of sections, and the sentences on them."""
