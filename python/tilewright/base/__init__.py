"""What every other part needs: errors, source lines, settings, notices, threads and caches of the process."""
