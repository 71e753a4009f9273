import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from 'react'
import { IconButton } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import type { Graph } from './graph.ts'
import { startLayout } from './start-layout.ts'
import { useGraphPicture } from './use-graph-picture.ts'
import { nodeAt, panBy, toPlane, zoomAt } from './view.ts'

const step = 60
/** What of the graph comes into sight is where the arrow points. */
const arrows: Record<string, [dx: number, dy: number]> = {
  ArrowLeft: [step, 0],
  ArrowRight: [-step, 0],
  ArrowUp: [0, step],
  ArrowDown: [0, -step],
}
const nearer = 1.25
const reachPixels = 14

/** The graph as a picture that can be moved and zoomed, by pointer, fingers, wheel and keys. */
export function GraphCanvas(props: {
  graph: Graph
  chosen: number | undefined
  onChoose(node: number | undefined): void
}) {
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
        aria-label={`Graph of ${kinds.length} memories. Arrows move it, plus and minus zoom, 0 shows all. The list beside it says the same.`}
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
        <IconButton label="Nearer" onClick={() => zoom(nearer)}>
          <Icon name="plus" size={16} />
        </IconButton>
        <IconButton label="Farther" onClick={() => zoom(1 / nearer)}>
          <Icon name="minus" size={16} />
        </IconButton>
        <IconButton label="Show all" onClick={fitAll}>
          <Icon name="fit" size={16} />
        </IconButton>
      </div>
    </div>
  )
}
