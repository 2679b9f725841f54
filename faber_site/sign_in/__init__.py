"""Signing in through others, GitHub or an OpenID Connect provider, with django-allauth."""
