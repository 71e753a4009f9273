import { type RefObject, useCallback, useEffect, useRef } from 'react'
import { useTheme } from '../../shell/theme.ts'
import { type Drawing, drawGraph } from './draw-graph.ts'
import { fit, type Size, type View } from './view.ts'

/**
 * The canvas and what is drawn on it. Neither moving nor laying out passes through React: a change is drawn with the next frame,
 * once.
 */
export function useGraphPicture(canvas: RefObject<HTMLCanvasElement | null>, drawing: Omit<Drawing, 'positions'>) {
  const theme = useTheme()
  const view = useRef<View>({ x: 0, y: 0, scale: 1 })
  const size = useRef<Size>({ width: 0, height: 0 })
  const positions = useRef<Float32Array>(new Float32Array(0))
  const latest = useRef(drawing)
  const frame = useRef(0)
  /** Until somebody moves it, all of it stays in sight. */
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
    (change: (view: View, size: Size) => View) => {
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
function fitWithLabels(positions: Float32Array, size: Size): View {
  return fit(positions, size, Math.min(130, size.width / 4))
}
