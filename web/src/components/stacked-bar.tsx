import { classes } from './classes.ts'
import { seriesGround } from './series.ts'

export interface BarPart {
  name: string
  value: number
  /** The number of its colour. */
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
