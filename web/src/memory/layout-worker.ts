import { createLayout, type LayoutInput } from './graph-layout.ts'

const frameMs = 50

/** Lays out beside the page, which stays free to be moved about, and sends how far it is a few times a second. */
self.onmessage = ({ data }: MessageEvent<LayoutInput>) => {
  const layout = createLayout(data)
  let sentAt = 0
  while (!layout.isSettled()) {
    layout.step()
    if (performance.now() - sentAt < frameMs) continue
    sentAt = performance.now()
    self.postMessage(layout.positions)
  }
  self.postMessage(layout.positions)
}
