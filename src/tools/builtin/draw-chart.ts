import { extent, max, min, sum } from 'd3-array'
import { type ScaleLinear, scaleBand, scaleLinear, scalePoint } from 'd3-scale'
import { arc, line, pie } from 'd3-shape'

export const chartKinds = ['line', 'bar', 'pie', 'scatter', 'histogram'] as const

export interface ChartSeries {
  name: string
  values: readonly (number | null)[]
  /** Of a scatter chart. */
  x?: readonly number[] | undefined
}

export interface ChartData {
  kind: (typeof chartKinds)[number]
  title: string
  /** One for each value; empty: they are numbered. */
  labels: readonly string[]
  series: readonly ChartSeries[]
  xTitle: string
  yTitle: string
}

/** How often the values of a series are in each of the ranges, which are the same for all series. */
export interface Histogram {
  ranges: readonly { from: number; to: number }[]
  counts: readonly (readonly number[])[]
}

const chartWidth = 800
const height = 480
const fontSize = 13
const titleSize = 18
/** Observable's ten colors, which people with color blindness can distinguish. */
const colors = [
  '#4269d0',
  '#efb118',
  '#ff725c',
  '#6cc5b0',
  '#3ca951',
  '#ff8ab7',
  '#a463f2',
  '#97bbf5',
  '#9c6b4e',
  '#9498a0',
]
const ink = '#1f2937'
const soft = '#6b7280'
const rule = '#e5e7eb'
const maxLabel = 24
const ticks = 6
/** Of numbers below that, nothing can be seen. */
const smallest = 1e-100

const colorOf = (index: number) => colors[index % colors.length] as string
const numbers = (values: readonly (number | null)[]) => values.filter((value) => value !== null)

interface Area {
  left: number
  right: number
  top: number
  bottom: number
}

/** The chart as SVG on a white ground, so that it can be read on a light and on a dark page. */
export function drawChart(data: ChartData): string {
  const heading = data.title ? text(chartWidth / 2, 30, data.title, { size: titleSize, bold: true }) : ''
  const area: Area = { left: 20, right: chartWidth - 24, top: data.title ? 52 : 24, bottom: height - 24 }
  const body = data.kind === 'pie' ? drawPie(data, area) : drawAxes(data, withLegend(data, area))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${chartWidth}" height="${height}" viewBox="0 0 ${chartWidth} ${height}" font-family="DejaVu Sans" font-size="${fontSize}">`,
    `<rect width="${chartWidth}" height="${height}" fill="#ffffff"/>`,
    heading,
    body,
    '</svg>',
  ].join('\n')
}

export function countRanges(series: readonly ChartSeries[]): Histogram {
  const all = series.flatMap(({ values }) => numbers(values))
  const [least = 0, most = 0] = extent(all)
  const wanted = Math.ceil(Math.log2(all.length)) + 1
  const scale = scaleLinear().domain(spread(least, most)).nice(wanted)
  const steps = scale.ticks(wanted)
  const inner = steps.slice(1).map((to, at) => ({ from: steps[at] as number, to }))
  const [from = 0, to = 0] = scale.domain()
  const edges = inner.length > 0 ? inner : [{ from, to }]
  const inside = (value: number, at: number) => {
    const { from, to } = edges[at] as { from: number; to: number }
    return (value >= from || at === 0) && (value < to || at === edges.length - 1)
  }
  const counts = series.map(({ values }) =>
    edges.map((_, at) => numbers(values).filter((value) => inside(value, at)).length),
  )
  return { ranges: edges, counts }
}

/** One line of names above the chart, if there is more than one series. */
function withLegend({ series }: ChartData, area: Area): { area: Area; legend: string } {
  if (series.length < 2) return { area, legend: '' }
  let x = area.left + 40
  let y = area.top + 4
  const parts = series.map(({ name }, index) => {
    const label = shorten(name)
    const width = widthOf(label) + 34
    if (x + width > area.right) {
      x = area.left + 40
      y += 20
    }
    const part = `<rect x="${x}" y="${y - 10}" width="12" height="12" rx="2" fill="${colorOf(index)}"/>${text(x + 18, y, label, { anchor: 'start' })}`
    x += width
    return part
  })
  return { area: { ...area, top: y + 18 }, legend: parts.join('\n') }
}

function drawAxes(data: ChartData, { area: whole, legend }: { area: Area; legend: string }): string {
  const { kind, series } = data
  const histogram = kind === 'histogram' ? countRanges(series) : undefined
  const values = histogram ? histogram.counts.flat() : series.flatMap(({ values: own }) => numbers(own))
  const [least = 0, most = 0] = extent(values)
  // Bars begin at zero: their length is the value.
  const fromZero = kind === 'bar' || kind === 'histogram'
  const domain = fromZero ? spread(Math.min(0, least), Math.max(0, most)) : spread(least, most)
  const probe = scaleLinear().domain(domain).nice(ticks)
  const tickText = probe.tickFormat(ticks)
  const tickWidth = max(probe.ticks(ticks), (tick) => widthOf(tickText(tick))) ?? 0
  const area: Area = {
    ...whole,
    left: whole.left + tickWidth + 12 + (data.yTitle ? 24 : 0),
    bottom: whole.bottom - 24 - (data.xTitle ? 22 : 0),
  }
  const across = acrossOf(data, histogram, area)
  area.bottom -= across.labelHeight
  const y = probe.range([area.bottom, area.top])
  return [
    legend,
    gridLines(y, area, tickText),
    drawMarks(data, histogram, { across, y }),
    across.labels(area),
    `<path d="M${area.left} ${y(fromZero ? 0 : (y.domain()[0] as number))}H${area.right}" stroke="${soft}"/>`,
    data.xTitle ? text((area.left + area.right) / 2, whole.bottom + 12, data.xTitle, { color: soft }) : '',
    data.yTitle ? text(whole.left + 6, (area.top + area.bottom) / 2, data.yTitle, { color: soft, turn: -90 }) : '',
  ].join('\n')
}

/** A range that has room for ticks, also where all numbers are the same or nearly so. */
function spread(least: number, most: number): [number, number] {
  const size = Math.max(Math.abs(least), Math.abs(most))
  if (most - least > size * 1e-9 && size > smallest) return [least, most]
  const room = size > smallest ? size : 1
  return [least - room / 2, most + room / 2]
}

function gridLines(y: ScaleLinear<number, number>, { left, right }: Area, tickText: (tick: number) => string): string {
  return y
    .ticks(ticks)
    .map((tick) => {
      const at = y(tick)
      const label = text(left - 8, at + 4, tickText(tick), { anchor: 'end', color: soft })
      return `<path d="M${left} ${at}H${right}" stroke="${rule}"/>${label}`
    })
    .join('\n')
}

interface Across {
  /** The center of a label, or of a number on a scale of numbers. */
  at(index: number): number
  number(value: number): number
  band: number
  labelHeight: number
  labels(area: Area): string
}

function acrossOf(data: ChartData, histogram: Histogram | undefined, { left, right }: Area): Across {
  if (data.kind === 'scatter' || histogram) {
    const values = histogram
      ? histogram.ranges.flatMap(({ from, to }) => [from, to])
      : data.series.flatMap(({ x, values: own }) => x ?? own.map((_, index) => index + 1))
    const scale = scaleLinear()
      .domain(spread(min(values) ?? 0, max(values) ?? 0))
      .range([left + 8, right - 8])
    if (!histogram) scale.nice(8)
    const tickText = scale.tickFormat(8)
    return {
      at: (index) => scale(index + 1),
      number: (value) => scale(value),
      band: 0,
      labelHeight: 0,
      labels: ({ bottom }) =>
        scale
          .ticks(8)
          .map((tick) => text(scale(tick), bottom + 18, tickText(tick), { color: soft }))
          .join('\n'),
    }
  }
  const count = max(data.series, ({ values }) => values.length) ?? 0
  const names = Array.from({ length: count }, (_, index) => shorten(data.labels[index] ?? String(index + 1)))
  const keys = names.map((_, index) => index)
  const scale =
    data.kind === 'bar'
      ? scaleBand<number>().domain(keys).range([left, right]).padding(0.25)
      : scalePoint<number>()
          .domain(keys)
          .range([left + 12, right - 12])
  const center = (index: number) => (scale(index) ?? 0) + scale.bandwidth() / 2
  const widest = max(names, widthOf) ?? 0
  const isTight = widest + 10 > scale.step() && data.kind === 'bar'
  const every = isTight ? Math.ceil(16 / scale.step()) : Math.max(1, Math.ceil((widest + 14) / scale.step()))
  return {
    at: center,
    number: center,
    band: scale.bandwidth(),
    labelHeight: isTight ? Math.min(widest * 0.72, 110) : 0,
    labels: ({ bottom }) =>
      names
        .flatMap((name, index) => {
          if (index % every !== 0) return []
          const x = center(index)
          return isTight
            ? text(x + 4, bottom + 14, name, { anchor: 'end', color: soft, turn: -45 })
            : text(x, bottom + 18, name, { color: soft })
        })
        .join('\n'),
  }
}

function drawMarks(
  { kind, series }: ChartData,
  histogram: Histogram | undefined,
  { across, y }: { across: Across; y: ScaleLinear<number, number> },
): string {
  const rect = (x: number, width: number, value: number, color: string, opacity = 1) => {
    const [from, to] = [y(Math.max(0, value)), y(Math.min(0, value))]
    return `<rect x="${round(x)}" y="${round(from)}" width="${round(Math.max(0.5, width))}" height="${round(to - from)}" fill="${color}" fill-opacity="${opacity}"/>`
  }
  if (histogram) {
    const opacity = series.length > 1 ? 0.6 : 1
    return histogram.counts
      .flatMap((counts, index) =>
        counts.map((count, at) => {
          const { from, to } = histogram.ranges[at] as { from: number; to: number }
          const x = across.number(from)
          return rect(x + 0.5, across.number(to) - x - 1, count, colorOf(index), opacity)
        }),
      )
      .join('\n')
  }
  if (kind === 'bar') {
    const width = across.band / series.length
    return series
      .flatMap(({ values }, index) =>
        values.map((value, at) =>
          value === null ? '' : rect(across.at(at) - across.band / 2 + index * width, width - 1, value, colorOf(index)),
        ),
      )
      .join('\n')
  }
  if (kind === 'scatter') {
    return series
      .flatMap(({ values, x }, index) =>
        values.map((value, at) =>
          value === null
            ? ''
            : `<circle cx="${round(across.number(x?.[at] ?? at + 1))}" cy="${round(y(value))}" r="4" fill="${colorOf(index)}" fill-opacity="0.75"/>`,
        ),
      )
      .join('\n')
  }
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, at) => across.at(at))
    .y((value) => y(value ?? 0))
  return series
    .map(({ values }, index) => {
      const few = values.length <= 40
      const dots = few
        ? values.map((value, at) =>
            value === null
              ? ''
              : `<circle cx="${round(across.at(at))}" cy="${round(y(value))}" r="3" fill="${colorOf(index)}"/>`,
          )
        : []
      const clipped = `<path d="${path([...values]) ?? ''}" fill="none" stroke="${colorOf(index)}" stroke-width="2.5" stroke-linejoin="round"/>`
      return [clipped, ...dots].join('')
    })
    .join('\n')
}

function drawPie({ labels, series }: ChartData, area: Area): string {
  const values = (series[0]?.values ?? []).map((value) => value ?? 0)
  const total = sum(values) || 1
  const radius = Math.min(area.bottom - area.top, (area.right - area.left) / 2) / 2 - 4
  const [cx, cy] = [area.left + radius + 40, (area.top + area.bottom) / 2]
  const shape = arc<{ startAngle: number; endAngle: number }>()
    .innerRadius(radius * 0.45)
    .outerRadius(radius)
  const slices = pie<number>().sort(null)(values)
  const rows = Math.max(values.length, 1)
  const step = Math.min(24, (area.bottom - area.top) / rows)
  const top = cy - (step * (rows - 1)) / 2
  return slices
    .map((slice, index) => {
      const share = `${((100 * (values[index] ?? 0)) / total).toFixed(1)}%`
      const y = top + index * step
      const name = `${shorten(labels[index] ?? String(index + 1))}  ${share}`
      return [
        `<path transform="translate(${cx} ${cy})" d="${shape(slice) ?? ''}" fill="${colorOf(index)}" stroke="#ffffff" stroke-width="2"/>`,
        `<rect x="${cx + radius + 40}" y="${y - 10}" width="12" height="12" rx="2" fill="${colorOf(index)}"/>`,
        text(cx + radius + 60, y, name, { anchor: 'start' }),
      ].join('')
    })
    .join('\n')
}

const round = (value: number) => Math.round(value * 100) / 100

/** The average character of the font is a little more than half as wide as it is high. */
function widthOf(label: string): number {
  return label.length * fontSize * 0.61
}

function shorten(label: string): string {
  return label.length > maxLabel ? `${label.slice(0, maxLabel - 1).toWellFormed()}…` : label
}

function text(
  x: number,
  y: number,
  content: string,
  style: { anchor?: 'start' | 'middle' | 'end'; color?: string; size?: number; bold?: boolean; turn?: number } = {},
): string {
  const { anchor = 'middle', color = ink, size, bold, turn } = style
  const attributes = [
    `x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${color}"`,
    size ? ` font-size="${size}"` : '',
    bold ? ' font-weight="bold"' : '',
    turn ? ` transform="rotate(${turn} ${round(x)} ${round(y)})"` : '',
  ]
  return `<text ${attributes.join('')}>${escapeXml(content)}</text>`
}

function escapeXml(content: string): string {
  const signs: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return content.replaceAll(/[&<>"]/g, (sign) => signs[sign] ?? '')
}
