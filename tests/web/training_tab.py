"""The tab of training, and the tab of models with what it trained: a part of tests/web/browser."""
import base64
import hashlib
import itertools
import os
import subprocess

from page import CUT_OFF, PATIENCE, SCRIPTS


class TrainingTab:
    page, attend = None, ""  # set by tests/web/browser, as check() and picture() are

    def train(self, folder, steps, long):
        page = self.page
        page.find("tab-train").click()
        page.run("""const inputs = document.querySelectorAll('.run')[0].querySelectorAll('.controls input[type=number]');
                    const values = arguments[0]; inputs.forEach((input, i) => { if (values[i] !== null) input.value = values[i] })""",
                 [None if long else 16, steps, 0.006 if long else None, None])
        if not long:  # validations are the larger part of a short run
            page.run("document.querySelectorAll('.run')[0].querySelectorAll('textarea')[1].value = 'valid-count = 20\\ntrain-count = 400'")
        page.run("document.querySelectorAll('.run')[0].querySelector('button.main').click()")
        pause = "return document.querySelectorAll('.run')[0].querySelectorAll('.bar button')[1]"
        self.check(page.wait(lambda: page.run(pause).is_enabled()), "training starts")
        page.run("document.querySelectorAll('.run')[0].querySelectorAll('.bar button')[1].click()")
        self.check(page.wait(lambda: page.run(pause).text == "Continue"), "Pause is heard while it trains")
        page.run("document.querySelectorAll('.run')[0].querySelectorAll('.bar button')[1].click()")
        digest = "return document.querySelector('.run .sha')?.textContent ?? ''"
        self.check(page.wait(lambda: len(page.run(digest)) == 64, 3600 if long else PATIENCE), "training ends with a digest")
        if long:
            row = page.run("return document.querySelector('.run dl').textContent")
            print(f"# {row}")
            self.check(float(row.split("token accuracy")[1].split(" %")[0]) >= 99, "reverse is learned: at least 99 % of the tokens")
        self.picture("train")
        command = page.run("return document.querySelectorAll('.run code')[1].textContent")
        native, home = command.split(" && ")[0].split()[1:], os.path.join(folder, "native")
        os.makedirs(home)
        subprocess.run([self.attend, *native, "--quiet"], cwd=home, check=True, capture_output=True)
        with open(os.path.join(home, "model.safetensors"), "rb") as file:
            wanted = hashlib.sha256(file.read()).hexdigest()
        self.check(page.run(digest) == wanted, f"the same digest natively: {command.split(' && ')[0]}")
        page.run("document.querySelectorAll('.run')[0].querySelectorAll('.bar button')[3].click()")
        path = os.path.join(folder, "model.safetensors")
        self.check(page.wait(lambda: os.path.exists(path) and hashlib.sha256(open(path, "rb").read()).hexdigest() == wanted), "the download has that digest")
        done = subprocess.run([self.attend, "run", path], input="abcd\n", capture_output=True, text=True)
        self.check(done.returncode == 0 and (not long or done.stdout == "dcba\n"), f"and runs in the program: {done.stdout.strip()}")
        os.remove(path)
        self.two_runs()
        self.picture("train-done")

    def two_runs(self):
        """Both runs at once, with more steps than they can make before Stop."""
        page = self.page
        page.run("""for (const box of document.querySelectorAll('.run')) {
            box.querySelectorAll('.controls input[type=number]')[1].value = 1000000; box.querySelector('.sha')?.remove(); box.querySelector('button.main').click() }""")
        steps = "return [...document.querySelectorAll('.run dd:first-of-type')].map((row) => Number(row.textContent.split(' ')[0]))"
        self.check(page.wait(lambda: len(page.run(steps)) == 2 and min(page.run(steps)) > 2), f"two runs train side by side {page.run(steps)}")
        page.run("for (const box of document.querySelectorAll('.run')) box.querySelectorAll('.bar button')[2].click()")
        self.check(page.wait(lambda: page.run("return document.querySelectorAll('.run .sha').length") == 2)
                   and page.run("return document.getElementById('train-runs').textContent").count("Stopped early") == 2, "Stop ends them, with a digest each")

    def fill_run(self, task, settings, config="", data="", watch=None):
        """Fills in the second run of the tab and starts it; returns whether it ended with a digest."""
        page = self.page
        page.run("""const [task, settings, config, data, watch] = arguments, box = document.querySelectorAll('.run')[1];
            const choose = (input, value) => { input.value = value; input.dispatchEvent(new Event('change', {bubbles: true})) };
            const [menu, architecture, attention] = box.querySelectorAll('select'), numbers = box.querySelectorAll('.controls input[type=number]');
            choose(menu, task); choose(architecture, settings[0]); choose(attention, settings[1]);
            settings.slice(2).forEach((value, i) => numbers[i].value = value);
            box.querySelectorAll('textarea')[0].value = data; box.querySelectorAll('textarea')[1].value = config;
            if (watch !== null) box.querySelector('.controls input:not([type=number])').value = watch;
            box.querySelector('.sha')?.remove(); box.querySelector('button.main').click()""", task, settings, config, data, watch)
        return page.wait(lambda: page.run("""const box = document.querySelectorAll('.run')[1];
            return Boolean(box.querySelector('.sha') || !box.querySelector('.problem').hidden)""")) and \
            page.run("return document.querySelectorAll('.run')[1].querySelector('.problem').hidden")

    def tasks(self, folder):
        """Tasks with images and pasted data, with the example that is watched."""
        page = self.page
        page.find("tab-train").click()
        watched = "return document.querySelectorAll('.run')[1].querySelector('.watched').textContent"
        drawn = "return document.querySelectorAll('.run')[1].querySelectorAll('.output')[2].shadowRoot?.querySelectorAll(arguments[0]).length ?? 0"
        fine = self.fill_run("shapes", ["rnn", "general", 16, 4], "train-count = 40\nvalid-count = 6\nbatch-tokens = 100")
        self.check(fine and page.run(watched) != "" and page.run(drawn, "use") > 1, f"shapes: the attention of each word over an image: {page.run(watched)}")
        self.picture("train-shapes")
        native = page.run("return [...document.querySelectorAll('.run')[1].querySelectorAll('code')].at(-1).textContent").split(" && ")[0].split()[1:]
        subprocess.run([self.attend, *native, "--quiet"], cwd=folder, check=True, capture_output=True)
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            wanted = hashlib.sha256(file.read()).hexdigest()
        self.check(page.run("return document.querySelectorAll('.run')[1].querySelector('.sha').textContent") == wanted, "with the same digest natively")
        self.captions(path, folder)
        page.find("tab-train").click()
        words = [f"{a} {n} {v} a {m}" for a in ("the", "a") for n in ("dog", "cat", "bird", "man", "child") for v in ("sees", "hears") for m in ("dog", "cat")]
        labels = "DT NN VB DT NN".split()
        conll = "\n\n".join("\n".join(f"{word}\t{label}" for word, label in zip(line.split(), labels)) for line in words)
        rows = "\n".join(f"{line}\t{' '.join(labels)}" for line in words)
        for name, data in (("as CoNLL", conll), ("in lines", rows)):
            fine = self.fill_run("tag", ["transformer", "general", 16, 60, 0.02], "layers = 1\nheads = 2\nffn-size = 16\ndropout = 0", data, "the bird sees a man")
            self.check(fine and page.run(watched) == "the bird sees a man → DT NN VB DT NN" and page.run(drawn, "g") >= 2,
                       f"tagged sentences {name}: {page.run(watched)}")
        self.picture("train-tag")
        fine = self.fill_run("classify", ["rnn", "general", 16, 6], "", "\n".join(f"{line}\t{line.split()[2]}" for line in words), "a dog hears a cat")
        self.check(fine and page.run(watched).startswith("a dog hears a cat → "), f"labeled sentences: {page.run(watched)}")
        fine = self.fill_run("lm", ["rnn", "general", 16, 4], "batch-tokens = 64", "\n".join(words * 8), "the ")
        self.check(fine and page.run(watched).startswith("the "), f"a text: {page.run(watched)[:40]!r}")
        for name, text in SCRIPTS.items():
            pairs = "\n".join(f"{' '.join(words)}\t{' '.join(reversed(words))}" for words in itertools.permutations(text.split(), 3))
            fine = self.fill_run("pairs", ["rnn", "general", 16, 40, 0.01], "source-tokens = word\ntarget-tokens = word", pairs, text)
            found = page.run(CUT_OFF)
            self.check(fine and page.run(drawn, "rect[data-query]") > 0 and not found, f"pairs in {name}: nothing is cut off {found[:3]}")
            self.picture(f"train-{name}")
        fine = self.fill_run("pairs", ["rnn", "general", 16, 4], "", "one line without a tab")
        self.check(not fine, "data of another form is refused: " + page.run("return document.querySelectorAll('.run')[1].querySelector('.problem').textContent")[:80])

    def captions(self, model, folder):
        """A caption model in the tab of models: its own images, and a file that the browser decodes."""
        page, bad = self.page, os.path.join(folder, "bad.png")
        page.find("tab-model").click()
        page.find("model-open").click()
        page.find("file-picker").send_keys(model)
        self.check(page.wait(lambda: page.shadow("model-map", "use") > 1 and "caption" in page.text("model-name")), f"a caption model describes an image: {page.text('model-output')}")
        native = subprocess.run([self.attend, "show", model, "--max-output-length", "50"], capture_output=True, text=True).stdout.split("\n")[0]
        self.check(page.text("model-output") == native, f"as natively: {native[:60]}")
        path = os.path.join(folder, "red.png")
        png = page.driver.execute_async_script("""const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
            canvas.width = canvas.height = 64; pen.fillStyle = '#dc2828'; pen.fillRect(0, 0, 64, 64);
            arguments[0](canvas.toDataURL('image/png').split(',')[1])""")
        for name, contents in ((path, base64.b64decode(png)), (bad, b"no image")):
            with open(name, "wb") as file:
                file.write(contents)
        page.find("model-image-open").click()
        page.find("file-picker").send_keys(path)
        red = "return [...(document.getElementById('model-map').shadowRoot?.querySelectorAll('defs svg rect') ?? [])].every((rect) => rect.getAttribute('fill') === '#dc2828')"
        self.check(page.wait(lambda: page.run(red)), "an image file is decoded by the browser and described")
        self.picture("model-caption")
        page.find("model-image-open").click()
        page.find("file-picker").send_keys(bad)
        self.check(page.wait(lambda: "bad.png is no image" in page.text("model-problem")), f"a file that is none is refused: {page.text('model-problem')}")
        page.find("model-sample").click()
        self.check(page.wait(lambda: page.text("model-output") == "bacddcba" and page.find("model-input").is_displayed()), "and the sample model is there again")
