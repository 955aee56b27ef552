// A page's side of the Worker: every method of lib/attend.js as a promise. A Worker whose module is lost is
// replaced by a new one, and `onRestart` is told; the calls under way fail. After MAX_FAILURES Workers in a row that
// could not even be loaded, no other is started.

const MAX_FAILURES = 3;

/** What the Worker said of a failed call. */
export class CallError extends Error {
  constructor(detail) {
    super(detail.message);
    Object.assign(this, detail);
    this.name = "CallError";
  }
}

export class Client {
  /** @param {{worker: () => Worker, wasm: () => Promise<ArrayBuffer | WebAssembly.Module>, kernels?: () => Promise<Record<string, ArrayBuffer>>,
   *   onRestart?: (reason: string) => void}} options */
  constructor(options) {
    this.options = options;
    this.pending = new Map();
    this.lastId = 0;
    this.failures = 0;
    this.ready = this.start();
  }

  async start() {
    const { worker, wasm, kernels = async () => ({}) } = this.options;
    this.worker = worker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.restart(event.message || "the Worker could not be started");
    };
    const [code, sides] = await Promise.all([wasm(), kernels()]);
    const about = await this.post("load", { wasm: code, kernels: sides });
    this.failures = 0;
    return about;
  }

  post(method, params) {
    return new Promise((resolve, reject) => {
      const id = ++this.lastId;
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, params });
    });
  }

  /** @param {string} method @param {object} [params] @returns {Promise<any>} */
  async call(method, params = {}) {
    await this.ready;
    return this.post(method, params);
  }

  receive({ id, result, error }) {
    const waiting = this.pending.get(id);
    this.pending.delete(id);
    if (error) waiting?.reject(new CallError(error));
    else waiting?.resolve(result);
    if (error?.fatal) this.restart(error.message);
  }

  restart(reason) {
    this.worker.terminate();
    for (const { reject } of this.pending.values()) reject(new CallError({ status: "error", message: reason, fatal: true }));
    this.pending.clear();
    this.failures++;
    this.ready = this.failures < MAX_FAILURES ? this.start() : Promise.reject(new CallError({ status: "error", message: reason }));
    this.ready.catch(() => {});
    this.options.onRestart?.(reason);
  }
}
