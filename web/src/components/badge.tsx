import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export type BadgeKind = 'plain' | 'good' | 'warn' | 'bad' | 'busy'

const dots: Record<BadgeKind, string | undefined> = {
  plain: undefined,
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  busy: 'bg-accent breathing',
}

/** A state in a word or two. The colour only says it again. */
export function Badge({ kind = 'plain', children }: { kind?: BadgeKind; children: ReactNode }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 whitespace-nowrap rounded-full bg-sunken px-2 py-0.5 text-xs text-soft">
      {dots[kind] && <span aria-hidden="true" className={classes('size-2 rounded-full', dots[kind])} />}
      {children}
    </span>
  )
}
