import { classes } from './classes.ts'
import { seriesGround } from './series.ts'

/** Which colour stands for what. */
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
