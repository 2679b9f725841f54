"""The other queue: Celery on Redis or RabbitMQ, for teams that already run one of them."""
