"""The pages where operators add webhooks and look at what was sent; the sending is `channels`'."""
