// Search from disk: browsers start no worker from `file:`. An iframe of the page's own origin runs its script instead.
// The theme's script looks for the name `IFrameWorker`.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      frame.receive = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      this.frame = frame
      this.ready = new Promise((resolve) => frame.addEventListener("load", resolve))
      const page = frame.contentDocument
      page.open()
      page.write(`<html><body><script>
        postMessage = (data) => frameElement.receive(data)
        importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((resolve, reject) => {
          const script = document.createElement("script")
          Object.assign(script, { src, onload: resolve, onerror: reject })
          document.body.appendChild(script)
        })), Promise.resolve())
      <\/script><script src="${url}"><\/script></body></html>`)
      page.close()
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
