import type { ButtonHTMLAttributes } from 'react'
import { classes } from './classes.ts'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'plain' | 'main' | 'quiet' | 'danger'
  size?: 'usual' | 'small'
  /** Something is under way: it cannot be pressed again. */
  isBusy?: boolean
}

const kinds = {
  plain: 'border border-line bg-raised hover:bg-sunken',
  main: 'bg-accent text-accent-ink hover:brightness-110',
  quiet: 'text-soft hover:bg-sunken hover:text-ink',
  danger: 'border border-bad text-bad hover:bg-bad-soft',
}
const sizes = { usual: 'min-h-9 px-3 py-1.5', small: 'min-h-7 px-2 py-0.5 text-sm' }

export function Button({ kind = 'plain', size = 'usual', isBusy = false, className, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classes(
        'inline-flex items-center justify-center gap-1.5 rounded-lg font-medium transition-colors disabled:opacity-50',
        kinds[kind],
        sizes[size],
        isBusy && 'breathing',
        className,
      )}
      {...rest}
    />
  )
}

/** A button that shows a picture alone; its name is read aloud and shown on hovering. */
export function IconButton({
  label,
  kind = 'quiet',
  className,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { label: string; kind?: 'quiet' | 'main' }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex size-9 shrink-0 items-center justify-center rounded-lg transition-colors disabled:opacity-40',
        kind === 'main' ? 'bg-accent text-accent-ink hover:brightness-110' : 'text-soft hover:bg-sunken hover:text-ink',
        className,
      )}
      {...rest}
    />
  )
}
