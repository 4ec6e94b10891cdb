"""Looking at functions: dependences, pictures, profiles, and what went wrong."""
