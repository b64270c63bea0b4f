"""`python -m records_site.server --host 127.0.0.1 --port 8000 --workers 2 --threads 8`."""

from records_site.server.supervisor import main

main()
