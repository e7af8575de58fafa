// Browsers start no workers for pages opened from disk, and the search of the documentation is one.
// There, a hidden frame does a worker's work: it loads the script, and gets and sends its messages.
if (location.protocol === "file:") {
  const prelude = `<script>
    postMessage = (data) => parent.postMessage(data, "*");
    importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(
      (done) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = done;
        document.body.append(script);
      })), Promise.resolve());
  </script>`;

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const address = new URL(url, location.href).href.replaceAll('"', "%22");
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write(`<html><body>${prelude}<script src="${address}"></script></body></html>`);
      inside.document.close();
      this.started = new Promise((done) => { this.frame.onload = () => done(inside); });
      this.listen = ({ source, data }) => {
        if (source !== inside) return;
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      addEventListener("message", this.listen);
    }

    postMessage(data) {
      this.started.then((inside) => {
        inside.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      removeEventListener("message", this.listen);
      this.frame.remove();
    }
  };
}
