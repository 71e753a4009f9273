import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import type { MemoryDetailReply } from '../../../src/protocol/memory.ts'
import { useTheme } from '../shell/theme.tsx'
import { formatPercent } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import 'uplot/dist/uPlot.min.css'

type Decay = MemoryDetailReply['decay']

const height = 160

/** The strength of a memory since its last use (solid) and from now on (dashed). */
export function DecayChart({ decay }: { decay: Decay }) {
  const place = useRef<HTMLDivElement>(null)
  const theme = useTheme()

  // biome-ignore lint/correctness/useExhaustiveDependencies: colors are read again when the theme changes.
  useEffect(() => {
    const element = place.current
    if (!element) return
    const plot = new uPlot(optionsFor(decay, element), seriesOf(decay), element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [decay, theme])

  return <div ref={place} role="img" aria-label={describe(decay)} dir="ltr" className="min-w-0" />
}

/** Both lines meet at now. */
function seriesOf({ points }: Decay): uPlot.AlignedData {
  const percent = (share: number) => share * 100
  return [
    points.map(({ offset }) => offset),
    points.map(({ offset, strength }) => (offset <= 0 ? percent(strength) : null)),
    points.map(({ offset, strength }) => (offset >= 0 ? percent(strength) : null)),
  ]
}

function optionsFor({ policy }: Decay, element: HTMLElement): uPlot.Options {
  const color = (name: string) => getComputedStyle(element).getPropertyValue(name)
  const axis = { stroke: color('--soft'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  const line = { stroke: color('--accent'), width: 2, points: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: [0, 100] } },
    axes: [
      { ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => nameOf(tick, policy)) },
      { ...axis, size: 44, values: (_, ticks) => ticks.map((tick) => formatPercent(tick / 100)) },
    ],
    series: [{}, line, { ...line, dash: [4, 4] }],
  }
}

function nameOf(offset: number, policy: Decay['policy']): string {
  if (offset === 0) return t.memory.now
  return `${offset > 0 ? '+' : '−'}${Math.abs(offset)}${policy === 'time' ? t.memory.daysShort : ''}`
}

function describe({ strength, points, policy }: Decay): string {
  const last = points.at(-1)
  const later = last
    ? (policy === 'time' ? t.memory.strengthAfterDays : t.memory.strengthAfterTurns)(
        Math.round(last.strength * 100),
        last.offset,
      )
    : ''
  return t.memory.strengthNowIfUnused(Math.round(strength * 100), later)
}
