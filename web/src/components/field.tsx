import { type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes, useId } from 'react'
import { classes } from './classes.ts'

const box =
  'w-full rounded-lg border border-line bg-raised px-3 py-1.5 text-ink placeholder:text-soft focus-visible:outline-2 focus-visible:outline-accent'

interface Labelled {
  label: string
  /** The label is read aloud and not shown. */
  isLabelHidden?: boolean | undefined
  hint?: ReactNode
  error?: string | undefined
}

export function TextField({
  label,
  isLabelHidden,
  hint,
  error,
  className,
  ref,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  const id = useId()
  return (
    <Frame id={id} label={label} isLabelHidden={isLabelHidden} hint={hint} error={error} className={className}>
      <input
        id={id}
        ref={ref}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={hint || error ? `${id}-hint` : undefined}
        className={box}
        {...rest}
      />
    </Frame>
  )
}

export function TextArea({
  label,
  isLabelHidden,
  hint,
  error,
  className,
  ref,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  const id = useId()
  return (
    <Frame id={id} label={label} isLabelHidden={isLabelHidden} hint={hint} error={error} className={className}>
      <textarea
        id={id}
        ref={ref}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={hint || error ? `${id}-hint` : undefined}
        className={classes(box, 'min-h-20')}
        {...rest}
      />
    </Frame>
  )
}

export interface Choice {
  value: string
  label: string
}

export function SelectField({
  label,
  isLabelHidden,
  hint,
  className,
  choices,
  value,
  onChange,
}: Labelled & { choices: readonly Choice[]; value: string; onChange(value: string): void; className?: string }) {
  const id = useId()
  return (
    <Frame id={id} label={label} isLabelHidden={isLabelHidden} hint={hint} className={className}>
      <select id={id} className={box} value={value} onChange={(event) => onChange(event.target.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
    </Frame>
  )
}

function Frame({
  id,
  label,
  isLabelHidden,
  hint,
  error,
  className,
  children,
}: Labelled & { id: string; className?: string | undefined; children: ReactNode }) {
  return (
    <div className={classes('min-w-0', className)}>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'mb-1 block text-sm font-medium'}>
        {label}
      </label>
      {children}
      {(hint || error) && (
        <p id={`${id}-hint`} className={classes('mt-1 text-sm', error ? 'text-bad' : 'text-soft')}>
          {error ?? hint}
        </p>
      )}
    </div>
  )
}
