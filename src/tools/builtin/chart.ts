import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { oneLine, toDisplayText } from '../../base/text.ts'
import type { Card } from '../../protocol/messages.ts'
import { makeCard } from '../cards/make-card.ts'
import { defineTool, failed, type Tool } from '../tool.ts'
import { type ChartData, chartKinds, countRanges, type drawChart } from './draw-chart.ts'
import type { PutMedia } from './message.ts'

const maxSeries = 10
const maxValues = 2_000
const maxSlices = 20
const maxRows = 30
const scale = 2
/** The characters of the font that comes with Familiar; for others the fonts of the system are looked through. */
const covered = /^[\u0020-\u024f\u0370-\u03ff\u0400-\u045f\u2010-\u203a\u20a0-\u20bf\u2212\u2248\u2260\u2264\u2265]*$/
const fontFile = fileURLToPath(new URL('./chart-font.ttf', import.meta.url))

const word = z.union([z.string(), z.number()]).transform((text) =>
  oneLine(toDisplayText(String(text)))
    .slice(0, 80)
    .toWellFormed(),
)
const seriesSchema = z.object({
  name: word.optional(),
  values: z.array(z.number().nullable()).min(1).max(maxValues),
  x: z.array(z.number()).max(maxValues).optional(),
})

/** Draws numbers as a picture, with the same numbers as a table for where pictures are not shown. */
export function createChart({ putMedia }: { putMedia: PutMedia }): Tool {
  return defineTool({
    name: 'chart',
    description:
      'Draw numbers as a chart for the user: line, bar, pie, scatter (x and values) or histogram. labels: one for each value.',
    input: z.object({
      kind: z.enum(chartKinds),
      title: word.default(''),
      labels: z.array(word).max(maxValues).default([]),
      series: z.array(seriesSchema).min(1).max(maxSeries),
      x_title: word.default(''),
      y_title: word.default(''),
    }),
    effect: 'at-least-once',
    async run({ kind, title, labels, series, x_title: xTitle, y_title: yTitle }) {
      const named = series.map((one, at) => ({
        ...one,
        name: one.name ?? (series.length === 1 ? 'value' : `series ${at + 1}`),
      }))
      const data: ChartData = { kind, title, labels, series: named, xTitle, yTitle }
      const problem = problemOf(data)
      if (problem) return failed(problem)
      const { drawChart: draw } = await import('./draw-chart.ts')
      const picture = await renderPicture(draw(data))
      const name = `${
        title
          .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
          .replaceAll(/^-|-$/g, '')
          .slice(0, 60) || 'chart'
      }.png`
      const part = await putMedia({ name, mediaType: 'image/png', data: picture })
      const table = tableOf(data)
      const rows = table.map((row) => row.join(' | ')).join('\n')
      const card = cardOf(title, table)
      return {
        text: `The user has the chart, with these numbers:\n${rows}`,
        isError: false,
        media: [part],
        ...(card && { card }),
      }
    },
  })
}

function problemOf({ kind, labels, series }: ChartData): string | undefined {
  const values = series.flatMap(({ values: own }) => own)
  if (values.every((value) => value === null)) return 'There is no number in it.'
  for (const { name, values: own, x } of series) {
    if (labels.length > 0 && own.length > labels.length && kind !== 'histogram' && kind !== 'scatter')
      return `${name} has ${own.length} values, but there are ${labels.length} labels.`
    if (kind === 'scatter' && x && x.length !== own.length)
      return `${name} has ${own.length} values, but ${x.length} x.`
  }
  if (kind !== 'pie') return undefined
  if (series.length > 1) return 'A pie shows one series. Use bars for more.'
  if (values.some((value) => (value ?? 0) < 0)) return 'A pie cannot show negative numbers. Use bars.'
  if (values.every((value) => !value)) return 'A pie needs a number above zero.'
  return values.length > maxSlices ? `A pie shows up to ${maxSlices} parts. Use bars.` : undefined
}

async function renderPicture(svg: ReturnType<typeof drawChart>): Promise<Uint8Array> {
  const { renderAsync } = await import('@resvg/resvg-js')
  const font = {
    fontFiles: [fontFile],
    defaultFontFamily: 'DejaVu Sans',
    loadSystemFonts: !covered.test(svg.replaceAll('\n', '')),
  }
  const image = await renderAsync(svg, { font, fitTo: { mode: 'zoom', value: scale } })
  return image.asPng()
}

/** The first row has the headings. */
function tableOf(data: ChartData): string[][] {
  const { kind, labels, series, xTitle } = data
  if (kind === 'histogram') {
    const { ranges, counts } = countRanges(series)
    const rows = ranges.map(({ from, to }, at) => [`${from} to ${to}`, ...counts.map((own) => String(own[at] ?? 0))])
    return limited([[xTitle || 'range', ...series.map(({ name }) => name)], ...rows])
  }
  if (kind === 'scatter') {
    const rows = series.flatMap(({ name, values, x }) =>
      values.map((value, at) => [series.length > 1 ? name : '', String(x?.[at] ?? at + 1), shown(value)]),
    )
    const head = ['', xTitle || 'x', data.yTitle || 'y']
    return limited([head, ...rows].map((row) => (series.length > 1 ? row : row.slice(1))))
  }
  const count = Math.max(...series.map(({ values }) => values.length))
  const rows = Array.from({ length: count }, (_, at) => [
    labels[at] ?? String(at + 1),
    ...series.map(({ values }) => shown(values[at] ?? null)),
  ])
  return limited([[xTitle, ...series.map(({ name }) => name)], ...rows])
}

const shown = (value: number | null) => (value === null ? '–' : String(Number(value.toPrecision(12))))

function limited(table: string[][]): string[][] {
  const [, ...rows] = table
  return rows.length <= maxRows ? table : [...table.slice(0, maxRows + 1), [`… ${rows.length - maxRows} more`]]
}

function cardOf(title: string, [head = [], ...rows]: string[][]): Card | undefined {
  const row = (cells: readonly string[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`
  const html = `<table><thead>${row(head, 'th')}</thead><tbody>${rows.map((cells) => row(cells, 'td')).join('')}</tbody></table>`
  return makeCard({ html, title: title || 'Chart' })
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
