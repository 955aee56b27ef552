"""The page in Chromium, for tests: served on loopback, used by the ids of its elements, and searched for text that is cut off."""
import contextlib
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE = 120  # seconds; the machine may be busy

# Texts of three scripts whose characters join, run from right to left, or are wider and higher than Latin ones.
SCRIPTS = {
    "Bengali": "আমি আজ স্কুলে যাচ্ছি বিশ্ববিদ্যালয়ের ছাত্রছাত্রীদের",
    "Arabic": "أنا ذاهب إلى المدرسة فأسقيناكموه والمستشفيات",
    "Chinese": "我 今天 要 去 学校上课 中华人民共和国国务院",
}

# Texts that are cut off: in a box that hides what is too much, in a button or menu, or beyond the frame of a drawing.
CUT_OFF = """
const found = [], seen = (element) => element.getClientRects().length > 0;
const inside = (part, whole) => part.left >= whole.left - 1 && part.right <= whole.right + 1 && part.top >= whole.top - 1 && part.bottom <= whole.bottom + 1;
function look(root) {
  for (const element of root.querySelectorAll('*')) {
    if (element.shadowRoot) look(element.shadowRoot);
    if (!seen(element) || !element.textContent.trim() || element.closest('.unseen')) continue;
    const style = getComputedStyle(element), name = `${element.localName} “${element.textContent.trim().slice(0, 40)}”`;
    if (element.localName === 'text') {
      let frame = element.ownerSVGElement;
      while (frame.ownerSVGElement) frame = frame.ownerSVGElement;
      if (!inside(element.getBoundingClientRect(), frame.getBoundingClientRect())) found.push(name);
    } else if (element.localName === 'select') {
      const probe = element.cloneNode(true), width = element.getBoundingClientRect().width; // as wide as its longest text, unless that is cut off
      [...probe.options].forEach((option) => option.text === element.selectedOptions[0]?.text || option.remove());
      probe.style.cssText = 'position:absolute;visibility:hidden;width:auto;max-width:none;font:' + style.font;
      document.body.append(probe);
      if (probe.getBoundingClientRect().width > width + 1) found.push(name);
      probe.remove();
    } else if (['hidden', 'clip'].includes(style.overflowX) || element.localName === 'button') {
      if (element.scrollWidth > element.clientWidth + 1 || (style.overflowY !== 'auto' && element.scrollHeight > element.clientHeight + 2))
        if (!element.closest('.editor')) found.push(name);
    }
  }
}
look(document);
const area = document.querySelector('.editor textarea');
if (seen(area) && Math.abs(area.scrollHeight - Math.max(area.clientHeight, document.querySelector('.editor .gutter').scrollHeight)) > 24)
  found.push('the lines of the editor and their numbers');
return found"""


@contextlib.contextmanager
def served(web):
    server = subprocess.Popen([sys.executable, os.path.join(ROOT, "scripts", "web-serve"), web, "0"],
                              stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


class Page:
    """The page in a browser, by the ids of its elements."""

    def __init__(self, webdriver, address, folder):
        options = webdriver.ChromeOptions()
        # The browser's own services ask for servers of its maker; no name has an address here, and the page's server is a number.
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900", "--no-first-run", "--disable-sync",
                     "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
            options.add_argument(word)
        options.binary_location = shutil.which("chromium")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": folder,
                                                  "profile.default_content_setting_values.automatic_downloads": 1})
        from selenium.webdriver.chrome.service import Service
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)  # a path: selenium would look for one to download
        self.driver.set_script_timeout(PATIENCE)
        self.address = address

    def open(self, suffix=""):
        self.driver.get("about:blank")
        self.driver.get(self.address + suffix)

    def find(self, name):
        return self.driver.find_element("id", name)

    def text(self, name):
        return self.driver.execute_script("return document.getElementById(arguments[0])?.textContent ?? ''", name)

    def shadow(self, name, selector):
        """How many elements a drawing has."""
        return self.driver.execute_script(
            "return document.getElementById(arguments[0])?.shadowRoot?.querySelectorAll(arguments[1]).length ?? 0", name, selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.1)
        return False

    def type_sheet(self, text):
        self.run("""const area = document.querySelector('#editor textarea'); area.value = arguments[0];
                    area.dispatchEvent(new Event('input'))""", text)

    def choose(self, name, value):
        self.run("""const input = document.getElementById(arguments[0]); input.value = arguments[1];
                    input.dispatchEvent(new Event('input', {bubbles: true})); input.dispatchEvent(new Event('change', {bubbles: true}))""",
                 name, value)
