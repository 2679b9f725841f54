"""Ways a request leaves the site, one folder each; `requests.announce` calls them."""
