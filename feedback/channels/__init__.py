"""Ways a request leaves the site, one folder each, called by `requests.announce`; no pages."""
