"""What axe-core finds on a page of a browser; its script comes with `axe-playwright-python`, without a network."""


def violations(page):
    """Return the rules of axe that a page breaks, each with the elements that break it."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found}
