import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { MemoryDetailReply } from '../../../../src/protocol/memory-api.ts'
import { useTheme } from '../../shell/theme.ts'

type Decay = MemoryDetailReply['decay']

const height = 160

/** How a memory has faded since its last use and will fade: what was, in full; what will be, in dashes. */
export function DecayChart({ decay }: { decay: Decay }) {
  const place = useRef<HTMLDivElement>(null)
  const theme = useTheme()

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read anew when the theme changes.
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

  return <div ref={place} role="img" aria-label={describe(decay)} className="min-w-0" />
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
  const colour = (name: string) => getComputedStyle(element).getPropertyValue(name)
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  const line = { stroke: colour('--accent'), width: 2, points: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: [0, 100] } },
    axes: [
      { ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => nameOf(tick, policy)) },
      { ...axis, size: 44, values: (_, ticks) => ticks.map((tick) => `${tick}%`) },
    ],
    series: [{}, line, { ...line, dash: [4, 4] }],
  }
}

function nameOf(offset: number, policy: Decay['policy']): string {
  if (offset === 0) return 'now'
  return `${offset > 0 ? '+' : '−'}${Math.abs(offset)}${policy === 'time' ? ' d' : ''}`
}

function describe({ strength, points, policy }: Decay): string {
  const last = points.at(-1)
  const later = last
    ? `, ${Math.round(last.strength * 100)}% in ${last.offset} ${policy === 'time' ? 'days' : 'turns'}`
    : ''
  return `Strength: ${Math.round(strength * 100)}% now${later}, if nobody uses it.`
}
