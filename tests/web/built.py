"""Whether the page was built, and from the sources as they are."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ("src", "include", "web/port", "web/glue", "web/kernels", "web/lib", "web/page")


def newest(folder):
    times = [os.path.getmtime(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names]
    return max(times, default=0)


def reason_to_skip(web):
    """What is missing, or None. Files that are copied are as old as their copy at most."""
    built = [os.path.join(web, name) for name in ("attend.wasm", "kernels-simd.wasm", "kernels-relaxed.wasm", "index.html")]
    if not all(os.path.exists(path) for path in built):
        return "the page was not built: make web"
    oldest = max(os.path.getmtime(path) for path in built)
    changed = [folder for folder in SOURCES if newest(os.path.join(ROOT, folder)) > oldest]
    return f"the page is older than {', '.join(changed)}: make web" if changed else None
