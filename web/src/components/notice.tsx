import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { classes } from './classes.ts'

/** Something that the user should know, where it belongs. Errors are read aloud at once. */
export function Notice({ kind = 'note', children }: { kind?: 'note' | 'warning' | 'error'; children: ReactNode }) {
  return (
    <div
      role={kind === 'error' ? 'alert' : 'note'}
      className={classes(
        'rounded-lg border px-3 py-2 text-sm',
        kind === 'error' && 'border-bad bg-bad-soft text-bad',
        kind === 'warning' && 'border-warn bg-warn-soft text-warn',
        kind === 'note' && 'border-line bg-sunken text-soft',
      )}
    >
      {children}
    </div>
  )
}

/** What went wrong and, where that may help, a way to try again. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <Notice kind="error">
      <span>{error.message}</span>{' '}
      {onRetry && (
        <Button size="small" kind="quiet" className="text-bad" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Notice>
  )
}

/** Nothing is here yet: what it is for, and how to begin. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mx-auto max-w-md px-4 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mt-1 text-sm text-soft">{children}</div>}
    </div>
  )
}
