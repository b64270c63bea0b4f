"""Django's database backends with limits: of a silent PostgreSQL server, of a long query on SQLite."""
