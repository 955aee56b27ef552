"""What a hostile or unlucky person does to the page, and what becomes of it: a part of tests/web/browser."""
import base64
import time

HOSTILE = """# A <script>window.hacked = 1</script> title
X = [1 0; 0 1]
label X "<img src=x onerror='window.hacked=2'>" "</td><script>window.hacked=3</script>"
a = attention(X, X, X)
plot a "<svg onload='window.hacked=4'>"
"""


class BadInput:
    page = None  # set by tests/web/browser, as check() is

    def hostile_link(self):
        page = self.page
        word = base64.urlsafe_b64encode(HOSTILE.encode()).decode().rstrip("=")
        page.open(f"#sheet={word}")
        drawn = page.wait(lambda: page.shadow("sheet-output", "svg rect") > 0)
        self.check(drawn and page.run("return window.hacked === undefined && document.querySelectorAll('img').length === 0"),
                   "a link with scripts in labels and titles shows them as text")
        self.check(page.shadow("sheet-output", "script, img, [onload], [onerror]") == 0, "and none of it becomes an element")
        page.run("""const s = document.createElement('script'); s.textContent = 'window.inline = 1'; document.body.append(s);
                    setTimeout('window.evaluated = 1')""")
        time.sleep(0.5)
        self.check(page.run("return window.inline === undefined && window.evaluated === undefined"),
                   "the Content-Security-Policy stops inline scripts and the evaluation of text")
        page.driver.get_log("browser")  # what the policy said of that script
        policy = page.run("return document.querySelector('meta[http-equiv]').content").split("; ")
        self.check("default-src 'none'" in policy and "script-src 'self' 'wasm-unsafe-eval'" in policy and "unsafe-" not in " ".join(policy).replace("'wasm-unsafe-eval'", ""),
                   "and permits nothing looser than 'wasm-unsafe-eval'")
        page.open("#sheet=%%%")
        self.check(page.wait(lambda: page.shadow("sheet-output", "*") > 0), "a damaged link opens the page")

    def bad_input(self):
        """A sheet and a model that are too large, and two tabs at once."""
        page = self.page
        page.open()
        page.type_sheet("x = 1 + 1\nexpect x = 2\n")
        page.wait(lambda: "The one check holds" in page.text("sheet-checks"))
        left_out = page.run("""const data = new DataTransfer(); data.setData('text/plain', 'x = 1\\n'.repeat(1750000));
            const paste = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
            document.querySelector('#editor textarea').dispatchEvent(paste); return paste.defaultPrevented""")
        self.check(left_out and "10.5 MB" in page.text("notice"), f"an endless paste is left out: {page.text('notice')[:80]}")
        page.run("""const area = document.querySelector('#editor textarea'); area.value = ('x = 1' + ' + 1'.repeat(1000) + '\\n').repeat(2600);
                    area.dispatchEvent(new Event('input'))""")
        self.check(page.wait(lambda: "up to 1 MB" in page.text("sheet-problem")), f"a sheet of 10 MB is refused: {page.text('sheet-problem')[:80]}")
        page.type_sheet("x = 1 + 2\nexpect x = 3\n")
        self.check(page.wait(lambda: "The one check holds" in page.text("sheet-checks")), "a smaller one is worked out afterwards")
        page.find("tab-model").click()
        page.wait(lambda: page.text("model-output") != "")
        page.run("""const drop = new Event('drop', {bubbles: true, cancelable: true});
                    drop.dataTransfer = {files: [{name: 'big.safetensors', size: 2e9}]}; document.body.dispatchEvent(drop)""")
        self.check(page.wait(lambda: "more than the" in page.text("model-problem")), f"a model of 2 GB is refused: {page.text('model-problem')[:80]}")
        self.dropped_model()
        self.dropped_units()
        first = page.driver.current_window_handle
        page.driver.switch_to.new_window("tab")
        page.open()
        page.type_sheet("y = 2\nexpect y = 3\n")
        self.check(page.wait(lambda: "The one check fails" in page.text("sheet-checks")), "a second tab has a sheet of its own")
        page.driver.close()
        page.driver.switch_to.window(first)
        page.find("tab-worksheets").click()
        self.check("The one check holds" in page.text("sheet-checks"), "and the first one still has its own")

    def dropped_model(self):
        """A model that is dropped on a page that was just opened, which fetches the sample model at the same time."""
        page = self.page
        page.open()
        page.driver.execute_async_script("""const done = arguments[0], real = window.fetch.bind(window);
            real('samples/reverse.safetensors').then((answer) => answer.arrayBuffer()).then((bytes) => {
              window.fetch = async (...words) => { // the sample arrives late
                if (String(words[0]).includes('reverse')) { await new Promise((resolve) => setTimeout(resolve, 2000)); window.late = true }
                return real(...words) };
              const drop = new Event('drop', {bubbles: true, cancelable: true});
              drop.dataTransfer = {files: [new File([bytes], 'mine.safetensors')]};
              document.body.dispatchEvent(drop); done() })""")
        page.wait(lambda: page.text("model-name").startswith("mine") and page.run("return window.late === true"))
        page.choose("model-input", "abc")
        self.check(page.wait(lambda: page.text("model-output") == "cba") and page.text("model-name").startswith("mine.safetensors"),
                   f"a model that is dropped is not replaced by the sample that arrives after it: {page.text('model-name')}")

    def dropped_units(self):
        """The same in the tab of units: the sample arrives while the Worker opens the dropped model."""
        page = self.page
        page.open()
        page.driver.execute_async_script("""const done = arguments[0], real = window.fetch.bind(window), post = Worker.prototype.postMessage;
            const bytes = async (name) => (await real(name)).arrayBuffer();
            Promise.all([bytes('samples/code.safetensors'), bytes('samples/code.txt')]).then(([model, text]) => {
              const opening = new Promise((resolve) => { Worker.prototype.postMessage = function (message, ...more) {
                post.call(this, message, ...more);
                if (message.method === 'open') resolve();
                if (message.method === 'close') window.modelClosed = true } });
              window.fetch = async (name) => { if (!String(name).includes('code.')) return real(name);
                await opening; return new Response(String(name).includes('.txt') ? text : model) };
              document.getElementById('tab-cells').click();
              const drop = new Event('drop', {bubbles: true, cancelable: true});
              drop.dataTransfer = {files: [new File([model], 'mine.safetensors')]};
              document.body.dispatchEvent(drop); done() })""")
        self.check(page.wait(lambda: page.run("return window.modelClosed === true")) and page.text("cells-name").startswith("mine.safetensors"),
                   f"nor is one in the tab of units: {page.text('cells-name')}")

    def crashes(self):
        """A Worker that dies is replaced; one that can never start is given up."""
        script = """const done = arguments[arguments.length - 1], broken = arguments[0];
            import(new URL('lib/client.js', document.baseURI).href).then(async ({ Client }) => {
              let started = 0, told = 0;
              const bytes = async (name) => (await fetch(name)).arrayBuffer();
              const client = new Client({ wasm: () => bytes('attend.wasm'), onRestart: () => told++,
                worker: () => new Worker(started++ < broken ? 'lib/missing.js' : 'lib/worker.js', { type: 'module' }) });
              while (told < Math.min(broken, 3)) await new Promise((resolve) => setTimeout(resolve, 50));
              const cpu = await client.call('about').then((about) => about.cpu, (error) => error.name);
              done([started, told, cpu]) })"""
        self.page.open()
        self.check(self.page.driver.execute_async_script(script, 1) == [2, 1, "scalar"], "a Worker that dies is replaced, and the page is told")
        self.check(self.page.driver.execute_async_script(script, 99) == [3, 3, "CallError"], "a Worker that cannot start is given up after three")
        self.page.driver.get_log("browser")  # the missing files
        page = self.page
        hook = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """const Real = Worker; window.workers = [];
            window.Worker = class extends Real { constructor(...words) { super(...words); window.workers.push(this) } }"""})
        page.open()
        page.type_sheet("x = 4\nexpect x = 4\n")
        page.wait(lambda: "The one check holds" in page.text("sheet-checks"))
        page.run("window.workers[0].dispatchEvent(new ErrorEvent('error', {message: 'it is gone', cancelable: true}))")
        self.check(page.wait(lambda: "started again: it is gone. Nothing that you typed is lost" in page.text("notice")), f"the page says so: {page.text('notice')}")
        page.type_sheet("x = 4\nexpect x = 5\n")
        self.check(page.wait(lambda: "The one check fails" in page.text("sheet-checks")) and page.run("return window.workers.length") == 2, "and works on with another Worker")
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", hook)
