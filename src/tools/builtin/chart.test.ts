import fc from 'fast-check'
import { parseDocument } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { toolContext } from '../../../test/support/tool-context.ts'
import type { Json } from '../../protocol/messages.ts'
import { createChart } from './chart.ts'
import { type ChartData, chartKinds, countRanges, drawChart } from './draw-chart.ts'

function chart() {
  const kept: { name: string; mediaType: string; data: Uint8Array }[] = []
  const tool = createChart({
    async putMedia(file) {
      kept.push(file)
      return { type: 'media', hash: 'h', name: file.name, mediaType: file.mediaType, bytes: file.data.length }
    },
  })
  return { kept, draw: (input: Json) => tool.run(input, toolContext()) }
}

const base: ChartData = { kind: 'bar', title: '', labels: [], series: [], xTitle: '', yTitle: '' }
const count = (svg: string, element: string) => svg.split(`<${element} `).length - 1

describe('chart', () => {
  it.each([
    {
      kind: 'line',
      labels: ['a', 'b', 'c'],
      series: [
        { name: 'x', values: [1, null, 3] },
        { name: 'y', values: [3, 2, 1] },
      ],
    },
    { kind: 'bar', labels: ['a', 'b'], series: [{ values: [1, -2] }] },
    { kind: 'pie', labels: ['a', 'b'], series: [{ values: [1, 3] }] },
    { kind: 'scatter', series: [{ x: [1, 5], values: [2, 4] }] },
    { kind: 'histogram', series: [{ values: [1, 2, 2, 3, 9] }] },
  ])('TOOLS-5 draws a $kind as a picture that the user gets', async (input) => {
    const { kept, draw } = chart()
    const outcome = await draw({ ...input, title: 'My <chart> & more' })
    expect(outcome).toMatchObject({ isError: false, media: [{ mediaType: 'image/png', name: 'My-chart-more.png' }] })
    const png = Buffer.from(kept[0]?.data ?? [])
    expect(png.subarray(0, 8).toString('latin1')).toBe('\u0089PNG\r\n\u001a\n')
    // Twice the size of the drawing, for sharp letters.
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1_600, 960])
    // An empty ground is a tenth of that.
    expect(png.length).toBeGreaterThan(5_000)
  })

  it('TOOLS-5 tells the same numbers as a table, to the model and as a card for terminals', async () => {
    const { draw } = chart()
    const labels = ['May', 'June']
    const outcome = await draw({
      kind: 'bar',
      title: 'Rain',
      labels,
      series: [{ name: 'mm', values: [12.5, null] }],
      x_title: 'month',
    })
    expect(outcome.text).toBe('The user has the chart, with these numbers:\nmonth | mm\nMay | 12.5\nJune | –')
    expect(outcome.card?.title).toBe('Rain')
    expect(outcome.card?.text.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ['month', 'mm'],
        ['May', '12.5'],
        ['June', '–'],
      ]),
    )
    const ages = await draw({ kind: 'histogram', series: [{ values: [1, 1, 2, 9] }] })
    expect(ages.text).toMatch(/range \| value\n[\s\S]*\d+ to \d+ \| [1-4]/)
    const many = await draw({ kind: 'line', series: [{ values: Array.from({ length: 100 }, (_, at) => at) }] })
    expect(many.text.split('\n').at(-1)).toBe('… 70 more')
  })

  it.each([
    [{ kind: 'pie', series: [{ values: [1, -1] }] }, 'negative'],
    [{ kind: 'pie', series: [{ values: [1] }, { values: [2] }] }, 'one series'],
    [{ kind: 'pie', series: [{ values: [0, 0] }] }, 'above zero'],
    [{ kind: 'bar', labels: ['a'], series: [{ values: [1, 2] }] }, '2 values, but there are 1 labels'],
    [{ kind: 'scatter', series: [{ x: [1], values: [1, 2] }] }, '2 values, but 1 x'],
    [{ kind: 'line', series: [{ values: [null] }] }, 'no number'],
    [{ kind: 'line', series: [{ values: ['4'] }] }, 'series.0.values.0'],
    [{ kind: 'radar', series: [{ values: [4] }] }, 'kind'],
  ] satisfies [Json, string][])('TOOLS-5 refuses what cannot be drawn: %j', async (input, reason) => {
    const { kept, draw } = chart()
    expect(await draw(input)).toMatchObject({ isError: true, text: expect.stringContaining(reason) })
    expect(kept).toEqual([])
  })

  it('TOOLS-5 bars are as long as their values', () => {
    const svg = drawChart({ ...base, series: [{ name: 'x', values: [1, 2, 4, -3] }] })
    const heights = [...svg.matchAll(/<rect [^>]*height="([\d.]+)" fill="#4269d0"/g)].map(([, height]) =>
      Number(height),
    )
    const [one = 1] = heights
    expect(heights.map((height) => Math.round((height / one) * 10) / 10)).toEqual([1, 2, 4, 3])
  })

  it('TOOLS-5 a histogram counts every value once', () => {
    const finite = fc.double({ noNaN: true, min: -1e6, max: 1e6 })
    fc.assert(
      fc.property(fc.array(finite, { minLength: 1, maxLength: 60 }), (values) => {
        const { counts } = countRanges([{ name: '', values }])
        expect(counts[0]?.reduce((sum, one) => sum + one, 0)).toBe(values.length)
      }),
    )
  })

  it('TOOLS-5 any numbers and any text make a well-formed picture without a coordinate that is no number', () => {
    const number = fc.option(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 }), { nil: null })
    const words = fc.string({ unit: fc.constantFrom(...'ab<>&"\'é本 /=-'), maxLength: 30 })
    const made = fc.record({
      kind: fc.constantFrom(...chartKinds),
      title: words,
      labels: fc.array(words, { maxLength: 6 }),
      series: fc.array(fc.record({ name: words, values: fc.array(number, { minLength: 1, maxLength: 6 }) }), {
        minLength: 1,
        maxLength: 3,
      }),
      xTitle: words,
      yTitle: words,
    })
    fc.assert(
      fc.property(made, (data) => {
        const svg = drawChart(data)
        expect(svg).not.toMatch(/NaN|Infinity|undefined/)
        const document = parseDocument(svg, { xmlMode: true })
        const names = new Set<string>()
        const visit = (nodes: typeof document.children): void =>
          nodes.forEach((node) => {
            if ('name' in node) names.add(node.name)
            if ('children' in node) visit(node.children)
          })
        visit(document.children)
        expect([...names].filter((name) => !['svg', 'rect', 'text', 'path', 'circle'].includes(name))).toEqual([])
        if (data.title) expect(count(svg, 'text')).toBeGreaterThan(0)
      }),
      { numRuns: 300 },
    )
  }, 60_000)
})
