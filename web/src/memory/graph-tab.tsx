import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useAnswer } from '../api/call.ts'
import { Button, IconButton } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Link, usePlace } from '../shell/router.tsx'
import { useTheme } from '../shell/theme.tsx'
import { t } from '../strings/strings.ts'
import {
  drawGraph,
  fit,
  type Graph,
  type GraphDrawing,
  type GraphView,
  joinedTo,
  kindColors,
  nodeAt,
  panBy,
  type Size,
  toGraph,
  toPlane,
  zoomAt,
} from './graph-drawing.ts'
import type { LayoutInput } from './graph-layout.ts'
import workerAddress from './layout-worker.ts?worker&url'
import { type Kind, memoryKindNames, setQuery } from './memory-list.tsx'

interface ScriptPolicy {
  createScriptURL(address: string): string
}

// The page's policy starts a worker only from an address that a Trusted Types policy returns.
const { trustedTypes } = globalThis as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy }
}
const rules: ScriptPolicy = { createScriptURL: () => workerAddress }
const policy = trustedTypes?.createPolicy('familiar-layout', rules) ?? rules

/** Tells the positions as they become better, until the signal ends it. */
function startLayout(input: LayoutInput, signal: AbortSignal, onPositions: (positions: Float32Array) => void) {
  const worker = new Worker(policy.createScriptURL(workerAddress), { type: 'module' })
  worker.onmessage = ({ data }: MessageEvent<Float32Array>) => onPositions(data)
  signal.addEventListener('abort', () => worker.terminate())
  worker.postMessage(input)
}

/**
 * The canvas and what is drawn on it. Neither moving nor laying out passes through React: a change is drawn with the next frame,
 * once.
 */
function useGraphPicture(canvas: RefObject<HTMLCanvasElement | null>, drawing: Omit<GraphDrawing, 'positions'>) {
  const theme = useTheme()
  const view = useRef<GraphView>({ x: 0, y: 0, scale: 1 })
  const size = useRef<Size>({ width: 0, height: 0 })
  const positions = useRef<Float32Array>(new Float32Array(0))
  const latest = useRef(drawing)
  const frame = useRef(0)
  /** Fits the whole graph until the user moves it. */
  const follows = useRef(true)

  const redraw = useCallback(() => {
    if (frame.current !== 0) return
    frame.current = requestAnimationFrame(() => {
      frame.current = 0
      const context = canvas.current?.getContext('2d')
      if (!context) return
      const ratio = devicePixelRatio
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      drawGraph(context, { ...latest.current, positions: positions.current }, view.current, size.current)
    })
  }, [canvas])

  const fitAll = useCallback(() => {
    follows.current = true
    view.current = fitWithLabels(positions.current, size.current)
    redraw()
  }, [redraw])

  const show = useCallback(
    (next: Float32Array) => {
      positions.current = next
      if (follows.current) view.current = fitWithLabels(next, size.current)
      redraw()
    },
    [redraw],
  )

  const look = useCallback(
    (change: (view: GraphView, size: Size) => GraphView) => {
      follows.current = false
      view.current = change(view.current, size.current)
      redraw()
    },
    [redraw],
  )

  useEffect(() => {
    const element = canvas.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      size.current = { width: element.clientWidth, height: element.clientHeight }
      element.width = Math.round(element.clientWidth * devicePixelRatio)
      element.height = Math.round(element.clientHeight * devicePixelRatio)
      if (follows.current) view.current = fitWithLabels(positions.current, size.current)
      redraw()
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [canvas, redraw])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme is another picture.
  useEffect(() => {
    latest.current = drawing
    redraw()
  }, [drawing, redraw, theme])

  return { view, size, positions, show, look, fitAll }
}

/** A narrow picture has more need of the nodes than of all their names. */
function fitWithLabels(positions: Float32Array, size: Size): GraphView {
  return fit(positions, size, Math.min(130, size.width / 4))
}

const step = 60
/** The view moves in the direction of the arrow. */
const arrows: Record<string, [dx: number, dy: number]> = {
  ArrowLeft: [step, 0],
  ArrowRight: [-step, 0],
  ArrowUp: [0, step],
  ArrowDown: [0, -step],
}
const nearer = 1.25
const reachPixels = 14

/** The graph as a picture that can be moved and zoomed, by pointer, fingers, wheel and keys. */
function GraphCanvas(props: { graph: Graph; chosen: number | undefined; onChoose(node: number | undefined): void }) {
  const { graph, chosen, onChoose } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const [hovered, setHovered] = useState<number>()
  const { kinds, labels, edges } = graph
  const picture = useGraphPicture(
    canvas,
    useMemo(() => ({ kinds, labels, edges, chosen, hovered }), [kinds, labels, edges, chosen, hovered]),
  )
  const { show, look, fitAll, view, size, positions } = picture

  useEffect(() => {
    const controller = new AbortController()
    startLayout({ count: kinds.length, edges }, controller.signal, show)
    return () => controller.abort()
  }, [kinds, edges, show])

  // React's own listener for the wheel is passive: the page would scroll along.
  useEffect(() => {
    const element = canvas.current
    const zoom = (event: WheelEvent) => {
      event.preventDefault()
      const point = { x: event.offsetX, y: event.offsetY }
      look((before, bounds) => zoomAt(before, bounds, point, Math.exp(-event.deltaY * 0.0015)))
    }
    element?.addEventListener('wheel', zoom, { passive: false })
    return () => element?.removeEventListener('wheel', zoom)
  }, [look])

  const pointers = useRef(new Map<number, { x: number; y: number }>())
  const isMoved = useRef(false)

  const placeOf = (event: PointerEvent) => ({ x: event.nativeEvent.offsetX, y: event.nativeEvent.offsetY })
  function nodeUnder(event: PointerEvent): number | undefined {
    const place = toPlane(view.current, size.current, placeOf(event))
    return nodeAt(positions.current, place, reachPixels / view.current.scale)
  }

  function down(event: PointerEvent): void {
    canvas.current?.setPointerCapture(event.pointerId)
    if (pointers.current.size === 0) isMoved.current = false
    pointers.current.set(event.pointerId, placeOf(event))
  }

  function move(event: PointerEvent): void {
    const before = pointers.current.get(event.pointerId)
    if (!before) {
      setHovered(nodeUnder(event))
      return
    }
    const now = placeOf(event)
    pointers.current.set(event.pointerId, now)
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1]
    if (Math.hypot(now.x - before.x, now.y - before.y) > 1) isMoved.current = true
    if (!other) look((at) => panBy(at, now.x - before.x, now.y - before.y))
    else {
      const [wide, narrow] = [now, before].map(({ x, y }) => Math.hypot(x - other.x, y - other.y)) as [number, number]
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }
      look((at, bounds) => zoomAt(at, bounds, middle, wide / (narrow || 1)))
    }
  }

  function up(event: PointerEvent): void {
    if (!pointers.current.delete(event.pointerId)) return
    if (!isMoved.current) onChoose(nodeUnder(event))
  }

  const zoom = (factor: number) =>
    look((at, bounds) => zoomAt(at, bounds, { x: bounds.width / 2, y: bounds.height / 2 }, factor))

  function press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const arrow = arrows[event.key]
    if (arrow) look((at) => panBy(at, ...arrow))
    else if (event.key === '+' || event.key === '=') zoom(nearer)
    else if (event.key === '-') zoom(1 / nearer)
    else if (event.key === '0') fitAll()
    else if (event.key === 'Escape') onChoose(undefined)
    else return
    event.preventDefault()
  }

  return (
    <div className="relative h-full">
      <div
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys move it.
        tabIndex={0}
        aria-label={t.graph.graphMemoriesArrowKeys(kinds.length)}
        className="h-full rounded-xl"
        onKeyDown={press}
      >
        <canvas
          ref={canvas}
          className="absolute inset-0 size-full cursor-grab touch-none rounded-xl active:cursor-grabbing"
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={up}
          onPointerCancel={(event) => pointers.current.delete(event.pointerId)}
          onPointerLeave={() => setHovered(undefined)}
        />
      </div>
      <div className="absolute end-2 bottom-2 flex rounded-lg border border-line bg-raised">
        <IconButton label={t.graph.zoomIn} onClick={() => zoom(nearer)}>
          <Icon name="plus" size={16} />
        </IconButton>
        <IconButton label={t.graph.zoomOut} onClick={() => zoom(1 / nearer)}>
          <Icon name="minus" size={16} />
        </IconButton>
        <IconButton label={t.graph.showAll} onClick={fitAll}>
          <Icon name="fit" size={16} />
        </IconButton>
      </div>
    </div>
  )
}

const maxListed = 100

/** How memories belong together: as a picture, and beside it as a list. */
export function GraphTab() {
  const { query } = usePlace()
  const around = query.get('around')
  const answer = useAnswer('graph.show', around ? { ids: around, depth: 2, limit: 300 } : { limit: 5_000 })
  const graph = useMemo(() => answer.data && toGraph(answer.data), [answer.data])
  const found = graph?.ids.indexOf(query.get('node') ?? around ?? '') ?? -1
  const chosen = found < 0 ? undefined : found
  const choose = (node: number | undefined) =>
    setQuery(query, { node: node === undefined ? '' : (graph?.ids[node] ?? '') })

  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!graph) return <p className="breathing text-soft">{t.common.loading}</p>
  if (graph.ids.length === 0) {
    return <Empty title={t.graph.noLinksYet}>{t.graph.familiarLinksRelatedMemories}</Empty>
  }
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
        <Legend graph={graph} />
        {around && (
          <Button size="small" onClick={() => setQuery(query, { around: '', node: around })}>
            {t.graph.showAll}
          </Button>
        )}
      </div>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_16rem]">
        <div className="h-[min(55vh,36rem)] min-h-72 min-w-0 rounded-xl border border-line">
          <GraphCanvas graph={graph} chosen={chosen} onChoose={choose} />
        </div>
        <GraphList graph={graph} chosen={chosen} onChoose={choose} />
      </div>
    </>
  )
}

function Legend({ graph }: { graph: Graph }) {
  const kinds = [...new Set(graph.kinds)].sort()
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {kinds.map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <Dot kind={kind} /> {graph.kinds.filter((own) => own === kind).length} × {memoryKindNames[kind]}
        </li>
      ))}
    </ul>
  )
}

function Dot({ kind }: { kind: Kind }) {
  return (
    <svg viewBox="0 0 10 10" className="size-2.5 shrink-0" aria-hidden="true">
      <circle cx={5} cy={5} r={5} fill={`var(${kindColors[kind]})`} />
    </svg>
  )
}

/** The selected node with its links, or a list of all nodes. */
function GraphList(props: { graph: Graph; chosen: number | undefined; onChoose(node: number | undefined): void }) {
  const { graph, chosen, onChoose } = props
  const [words, setWords] = useState('')
  const wanted = words.toLowerCase()
  const nodes =
    chosen === undefined
      ? [...graph.labels.keys()]
          .filter((node) => graph.labels[node]?.toLowerCase().includes(wanted))
          .slice(0, maxListed)
      : joinedTo(graph, chosen)
  return (
    <div className="flex max-h-[min(55vh,36rem)] min-h-0 flex-col">
      {chosen === undefined ? (
        <TextField
          label={t.graph.searchTheGraph}
          isLabelHidden
          type="search"
          placeholder={t.graph.searchTheGraph}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      ) : (
        <div className="text-sm" aria-live="polite">
          <p dir="auto" className="line-clamp-6 font-medium">
            {graph.labels[chosen]}
          </p>
          <p className="mt-1 flex gap-3">
            <Link href={`/memory/${encodeURIComponent(graph.ids[chosen] ?? '')}`} className="text-accent underline">
              {t.graph.open}
            </Link>
            <button type="button" className="text-soft underline" onClick={() => onChoose(undefined)}>
              {t.graph.allNodes}
            </button>
          </p>
          <p className="mt-2 text-xs text-soft">{t.graph.linkedTo(nodes.length)}</p>
        </div>
      )}
      <ul className="mt-2 min-h-0 flex-1 overflow-y-auto text-sm" aria-label={t.graph.nodes}>
        {nodes.map((node) => (
          <li key={graph.ids[node]}>
            <button
              type="button"
              className="flex min-h-8 w-full items-center gap-2 rounded-lg px-2 text-start hover:bg-sunken"
              onClick={() => onChoose(node)}
            >
              <Dot kind={graph.kinds[node] ?? 'note'} />
              <span dir="auto" className="truncate">
                {graph.labels[node]}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
