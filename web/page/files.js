// Opening and saving files of the visitor's machine.

/** Lets the visitor choose a file and passes it on. */
export function choose(accept, action) {
  const picker = /** @type {HTMLInputElement} */ (document.getElementById("file-picker"));
  picker.accept = accept;
  picker.value = "";
  picker.onchange = () => {
    if (picker.files?.[0]) action(picker.files[0]);
  };
  picker.click();
}

/** Offers bytes or text as a download. */
export function download(name, contents, type = "application/octet-stream") {
  const address = URL.createObjectURL(new Blob([contents], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** "1.5 MB". */
export function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
