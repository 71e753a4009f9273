import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { Legend, seriesColor, themeColor, useThemeName } from './bars.tsx'
import 'uplot/dist/uPlot.min.css'

interface PlotSeries {
  name: string
  /** One for each column. */
  values: readonly number[]
}

/**
 * Columns, each a stack of series. A canvas is invisible to screen readers: show a table with the same numbers
 * beside it.
 */
export function Plot(props: {
  label: string
  columns: readonly string[]
  series: readonly PlotSeries[]
  format(value: number): string
  height?: number
}) {
  const { label, columns, series, format, height = 220 } = props
  const place = useRef<HTMLDivElement>(null)
  const theme = useThemeName()
  const [pointed, setPointed] = useState<number | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme has other colors.
  useEffect(() => {
    const element = place.current
    if (!element) return
    const onPoint = (column: number | null) => setPointed(column)
    const size = () => ({ width: Math.max(element.clientWidth, 120), height })
    const plot = new uPlot({ ...size(), ...optionsOf({ columns, series, format, onPoint }) }, stacked(series), element)
    const observer = new ResizeObserver(() => plot.setSize(size()))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [columns, series, format, height, theme])

  return (
    <figure>
      <div role="img" aria-label={label} dir="ltr">
        <div ref={place} className="min-w-0 overflow-hidden" />
      </div>
      <figcaption className="mt-2 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 text-xs text-soft">
        {series.length > 1 ? <Legend names={series.map(({ name }) => name)} /> : <span />}
        <span aria-hidden="true" className="min-h-4">
          {pointed !== null && `${columns[pointed] ?? ''}: ${format(sumAt(series, pointed))}`}
        </span>
      </figcaption>
    </figure>
  )
}

function optionsOf({
  columns,
  series,
  format,
  onPoint,
}: {
  columns: readonly string[]
  series: readonly PlotSeries[]
  format(value: number): string
  onPoint(column: number | null): void
}): Omit<uPlot.Options, 'width' | 'height'> {
  const font = `12px ${themeColor('font-sans') || 'sans-serif'}`
  const axis: uPlot.Axis = {
    stroke: themeColor('soft'),
    font,
    grid: { stroke: themeColor('line'), width: 1 },
    ticks: { show: false },
  }
  const bars = uPlot.paths.bars?.({ size: [0.72, 44], radius: 0.1 })
  return {
    legend: { show: false },
    padding: [8, 4, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, columns.length - 0.4] },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 56,
        incrs: [1, 2, 3, 5, 7, 10, 14, 30, 60],
        values: (_plot, places) => places.map((at) => (Number.isInteger(at) ? (columns[at] ?? '') : '')),
      },
      { ...axis, size: 64, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...series.map((_one, index) => ({
        fill: seriesColor(series.length - 1 - index),
        width: 0,
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  }
}

/** The highest first, so that each lower one is drawn over it. */
function stacked(series: readonly PlotSeries[]): uPlot.AlignedData {
  const columns = series[0]?.values.map((_value, at) => at) ?? []
  const sums = series.map((_one, last) => columns.map((at) => sumAt(series.slice(0, last + 1), at)))
  return [columns, ...sums.reverse()]
}

function sumAt(series: readonly PlotSeries[], at: number): number {
  return series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
}
