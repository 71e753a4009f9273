import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMetrics, type MetricReading } from './metrics.ts'
import { prometheusText } from './telemetry.ts'

/** Parses a line like Prometheus: its name, its unescaped labels, its value. */
function readSample(line: string): { name: string; labels: Record<string, string>; value: string } {
  const [, name = '', inner = '', value = ''] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s.exec(line) ?? []
  const labels: Record<string, string> = {}
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y
  while (pair.lastIndex < inner.length) {
    const match = pair.exec(inner)
    if (!match) throw new Error(`not a label: ${inner.slice(pair.lastIndex)}`)
    labels[match[1] ?? ''] = (match[2] ?? '').replace(/\\(.)/g, (_all, letter) => (letter === 'n' ? '\n' : letter))
  }
  return { name, labels, value }
}

const samplesOf = (text: string) => text.split('\n').filter((line) => line && !line.startsWith('#'))

function reading(labels: [string, string][]): MetricReading {
  return { name: 'a.metric', kind: 'gauge', unit: '1', description: 'One.', labels: [], points: [{ labels, value: 1 }] }
}

describe('Prometheus text', () => {
  it('SCALE-7 no label breaks out of its quotes, whatever it contains', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string({ unit: fc.constantFrom('"', '\\', '\n', ',', '}', 'n', '=', '\u2028', '🐈', '\u0000') }),
        (one, two) => {
          const lines = samplesOf(
            prometheusText([
              reading([
                ['one.label', one],
                ['two', two],
              ]),
            ]),
          )
          expect(lines).toHaveLength(1)
          expect(readSample(lines[0] ?? '')).toEqual({
            name: 'a_metric_ratio',
            labels: { one_label: one, two },
            value: '1',
          })
        },
      ),
    )
  })

  it('SCALE-7 histograms add up, and counters are named as each format requires', async () => {
    const metrics = createMetrics()
    const labels = { 'gen_ai.tool.name': 'look' }
    for (const seconds of [0.01, 0.015, 1, 100]) metrics.record('gen_ai.execute_tool.duration', labels, seconds)
    metrics.add('familiar.turns', { 'familiar.turn.outcome': 'completed' }, 2)
    metrics.add('familiar.turns', { 'familiar.turn.outcome': 'completed' }, -5)
    const readings = await metrics.read()
    const text = prometheusText(readings)
    expect(text).toContain('# TYPE familiar_turns_total counter\n')
    expect(text).toContain('familiar_turns_total{familiar_turn_outcome="completed"} 2\n')
    const name = 'gen_ai_execute_tool_duration_seconds'
    expect(text).toContain(`# TYPE ${name} histogram\n`)
    for (const [bound, count] of [
      ['0.01', 1],
      ['0.02', 2],
      ['0.64', 2],
      ['1.28', 3],
      ['81.92', 3],
      ['+Inf', 4],
    ])
      expect(text).toContain(`${name}_bucket{gen_ai_tool_name="look",le="${bound}"} ${count}\n`)
    expect(text).toContain(`${name}_count{gen_ai_tool_name="look"} 4\n`)
    expect(text).toContain(`${name}_sum{gen_ai_tool_name="look"} 101.025\n`)
    expect(text).not.toContain('# EOF')
    const open = prometheusText(readings, { isOpenMetrics: true })
    expect(open).toContain(`# TYPE familiar_turns counter\n`)
    expect(open).toContain('familiar_turns_total{familiar_turn_outcome="completed"} 2\n')
    expect(open).toContain(`# UNIT ${name} seconds\n`)
    expect(open.endsWith('# EOF\n')).toBe(true)
  })

  it('SCALE-7 labels contain names only, and a limited number of them', async () => {
    const metrics = createMetrics()
    const outcome = (text: string) => ({ 'familiar.turn.outcome': text })
    metrics.add('familiar.turns', outcome('tell nobody that I am ill'))
    for (let number = 0; number < 2_000; number += 1) metrics.add('familiar.turns', outcome(`name-${number}`))
    const [turns] = await metrics.read()
    const text = prometheusText(turns ? [turns] : [])
    expect(text).toContain('familiar_turn_outcome="_OTHER"')
    expect(text).not.toContain('nobody')
    expect(turns?.points).toHaveLength(501)
    expect(text).toContain('{otel_metric_overflow="true"} 1501\n')
  })
})
