"""Tests with axe-core in Chromium that people who cannot see, or use no mouse, can read the site.

Run this file after `make site`. The test fails on each fault that axe calls serious or critical, and ignores results
that axe marks as undecided. site_check.py tests the contrast on every page in each theme. The contrast rule takes axe
longer than all other rules together. So axe tests the contrast only on one page of each kind, in the light and in the
dark theme.
"""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright

from tests.project.site_check import SITE, chromium, served

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# the site has hundreds of pages of code in these two folders; we test only a few
CODE = ("generated/api/", "_modules/")
OF_CODE = (
    "generated/api/index", "generated/api/nfa.rules.dp_dfa", "generated/api/nfa.privacy.accountant",
    "_modules/nfa/rules/dp_dfa",
)  # fmt: skip
FOUND = [path.relative_to(SITE).with_suffix("").as_posix() for path in sorted(SITE.rglob("*.html"))]
PAGES = [*(name for name in FOUND if not name.startswith(CODE)), *OF_CODE]
DARK = (
    "index", "02_feedback_alignment", "solutions/02_feedback_alignment", "generated/papers/lee2020", "generated/moving",
    "generated/certificates", "generated/experiments/ours-equal-epsilon-small", "_modules/nfa/rules/dp_dfa",
)  # fmt: skip
ASK = """async (options) => (await axe.run(document, {resultTypes: ["violations"], ...options})).violations
  .filter(({impact}) => impact === "serious" || impact === "critical")
  .map(({id, help, nodes}) => `${id}, ${help}: ${nodes.length} times, first ${nodes[0].html.slice(0, 200)}`)"""


@pytest.fixture(scope="module")
def site():
    with served(SITE) as address, sync_playwright() as playwright:
        yield playwright.chromium, address


@pytest.fixture
def context(site):
    """A new browser for each page, because axe keeps gigabytes of memory after a large page."""
    kind, address = site
    browser = kind.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"])
    made = browser.new_context(viewport={"width": 1300, "height": 900}, base_url=address)
    made.set_default_timeout(120_000)  # milliseconds; enough for a busy machine
    yield made
    browser.close()


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(context, name):
    page = context.new_page()
    page.goto(f"{name}.html")
    page.evaluate("() => window.MathJax?.startup?.promise?.then(() => null)")
    page.add_script_tag(path=AXE)
    found = page.evaluate(ASK, {"rules": {"color-contrast": {"enabled": False}}})
    if name in DARK:
        found += page.evaluate(ASK, {"runOnly": ["color-contrast"]})
        page.evaluate("() => { document.body.dataset.theme = 'dark'; }")
        found += [f"dark: {one}" for one in page.evaluate(ASK, {"runOnly": ["color-contrast"]})]
    page.close()
    assert not found, "\n".join(found)


def test_every_page_but_those_of_code_is_asked():
    assert len(PAGES) > 80
    assert {*OF_CODE, *DARK} <= set(FOUND)


def test_axe_finds_what_is_wrong(context):
    """axe finds an image without a text, a button without a name, and grey text on grey."""
    page = context.new_page()
    page.set_content(
        "<html lang=en><title>t</title><main><h1>h</h1><img src='data:,'><button></button>"
        "<p style='color: #999; background: #aaa'>pale</p></main></html>"
    )
    page.add_script_tag(path=AXE)
    found = page.evaluate(ASK, {})
    page.close()
    assert {line.partition(",")[0] for line in found} == {"image-alt", "button-name", "color-contrast"}
