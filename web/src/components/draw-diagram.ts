import type { DiagramColors } from '../diagram-frame.ts'
import { t } from '../strings/strings.ts'
import { themeColor } from './bars.tsx'

export interface DrawnDiagram {
  /** Of the image. */
  address: string
  width: number
  height: number
}

interface Waiting {
  resolve(drawn: DrawnDiagram): void
  reject(error: Error): void
}

const maxWaitMs = 20_000
const maxBytes = 2_000_000
const maxKept = 100

const waiting = new Map<number, Waiting>()
const kept = new Map<string, Promise<DrawnDiagram>>()
let count = 0
let frame: Promise<HTMLIFrameElement> | undefined

/** Draws each diagram once for each theme. Rejects where the source is no diagram or takes too long. */
export function drawDiagram(source: string, theme: string): Promise<DrawnDiagram> {
  const key = `${theme} ${source}`
  const known = kept.get(key)
  if (known) return known
  const drawn = ask(source, theme === 'dark')
  const oldest = kept.keys().next()
  if (kept.size >= maxKept && !oldest.done) kept.delete(oldest.value)
  kept.set(key, drawn)
  return drawn
}

async function ask(source: string, isDark: boolean): Promise<DrawnDiagram> {
  frame ??= openFrame()
  const current = frame
  const { contentWindow } = await current
  const id = ++count
  const { promise, resolve, reject } = Promise.withResolvers<DrawnDiagram>()
  waiting.set(id, { resolve, reject })
  // It has no origin that could be named here.
  contentWindow?.postMessage({ id, source, isDark, colors: colorsNow() }, '*')
  const timer = setTimeout(() => void giveUp(current), maxWaitMs)
  return await promise.finally(() => {
    clearTimeout(timer)
    waiting.delete(id)
  })
}

/** The frame has none of the page's styles. */
const colorsNow = (): DiagramColors => ({
  ground: themeColor('sunken'),
  box: themeColor('accent-soft'),
  border: themeColor('accent'),
  ink: themeColor('ink'),
  line: themeColor('soft'),
})

/** A diagram that takes this long is given up, and the diagrams behind it are requested again later. */
async function giveUp(stuck: Promise<HTMLIFrameElement>): Promise<void> {
  const error = new Error(t.common.diagramTimeout)
  if (frame === stuck) frame = undefined
  for (const { reject } of waiting.values()) reject(error)
  const element = await stuck
  element.remove()
}

function openFrame(): Promise<HTMLIFrameElement> {
  const element = document.createElement('iframe')
  const { promise, resolve } = Promise.withResolvers<HTMLIFrameElement>()
  element.title = t.common.diagrams
  element.tabIndex = -1
  element.ariaHidden = 'true'
  element.setAttribute('sandbox', 'allow-scripts')
  element.referrerPolicy = 'no-referrer'
  // Invisible but laid out: a diagram is measured while it is drawn.
  Object.assign(element.style, {
    position: 'fixed',
    left: '-4000px',
    top: '0',
    width: '1200px',
    height: '800px',
    visibility: 'hidden',
    pointerEvents: 'none',
  })
  window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
    if (source !== element.contentWindow) return
    if (isObject(data) && data.isReady === true) resolve(element)
    else settle(data)
  })
  element.src = '/diagram.html'
  document.body.append(element)
  return promise
}

/** Code in the frame is not trusted: only an image is accepted from it. */
function settle(data: unknown): void {
  if (!isObject(data) || typeof data.id !== 'number') return
  const asked = waiting.get(data.id)
  const { svg, width, height } = data
  const isWhole =
    typeof svg === 'string' && svg.startsWith('<svg') && svg.length <= maxBytes && isSize(width) && isSize(height)
  if (!isWhole) asked?.reject(new Error(t.common.diagramFailed))
  else
    asked?.resolve({
      address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.toWellFormed())}`,
      width,
      height,
    })
}

const isSize = (value: unknown): value is number => typeof value === 'number' && value > 0 && value < 20_000

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object'
}
