import { useSyncExternalStore } from 'react'
import { classes } from './controls.tsx'

/** The colors of the parts of a chart; their values are in styles.css, for light and dark. */
const seriesCount = 6

const grounds = ['bg-series-1', 'bg-series-2', 'bg-series-3', 'bg-series-4', 'bg-series-5', 'bg-series-6'] as const

/** A class for the ground of the part with this number. The last color is for all that comes after it. */
export function seriesGround(index: number): string {
  return grounds[Math.min(index, seriesCount - 1)] ?? grounds[0]
}

/** The same as a value, for a canvas. */
export function seriesColor(index: number): string {
  return themeColor(`series-${Math.min(index, seriesCount - 1) + 1}`)
}

export function themeColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}

/** The current theme. Canvases redraw when it changes. */
export const useThemeName = () =>
  useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? 'light')

/** A color legend. */
export function Legend({ names }: { names: readonly string[] }) {
  return (
    <ul className="flex min-w-0 flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
      {names.map((name, index) => (
        <li key={name} className="flex min-w-0 items-center gap-1.5">
          <span aria-hidden="true" className={classes('size-2.5 shrink-0 rounded-sm', seriesGround(index))} />
          {name}
        </li>
      ))}
    </ul>
  )
}

export interface BarPart {
  name: string
  value: number
  /** The number of its color. */
  series: number
  /** Drawn paler. */
  isPale?: boolean
}

/** One bar of several parts, as wide as `most`; what is left of it is empty. */
export function StackedBar(props: { label: string; parts: readonly BarPart[]; most: number; isThin?: boolean }) {
  const { label, parts, most, isThin = false } = props
  return (
    <div
      role="img"
      aria-label={label}
      className={classes('flex overflow-hidden rounded-md bg-sunken', isThin ? 'h-3' : 'h-9')}
    >
      {parts
        .filter(({ value }) => value > 0)
        .map(({ name, value, series, isPale }) => (
          <div
            key={name}
            title={name}
            className={classes(
              'h-full min-w-px border-e border-raised last:border-e-0',
              seriesGround(series),
              isPale && 'opacity-55',
            )}
            style={{ width: `${most > 0 ? (value / most) * 100 : 0}%` }}
          />
        ))}
    </div>
  )
}
