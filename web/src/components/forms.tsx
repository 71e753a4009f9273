import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type RefObject,
  type TextareaHTMLAttributes,
  useId,
  useInsertionEffect,
  useRef,
} from 'react'
import { classes } from './controls.tsx'
import { later, OutOfDate } from './later.tsx'

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
        dir="auto"
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
  isDisabled = false,
  onChange,
}: Labelled & {
  choices: readonly Choice[]
  value: string
  isDisabled?: boolean
  onChange(value: string): void
  className?: string
}) {
  const id = useId()
  return (
    <Frame id={id} label={label} isLabelHidden={isLabelHidden} hint={hint} className={className}>
      <select
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        disabled={isDisabled}
        className={box}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
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

export interface DialogProps {
  isOpen: boolean
  onClose(): void
  title: string
  description?: string
  children: ReactNode
}

const DialogLayer = later<Omit<DialogProps, 'isOpen'> & { opener: RefObject<Element | null> }>(
  async () => (await import('./layers.tsx')).DialogLayer,
  OutOfDate,
)

/** A question or a form above the page. Escape and a click beside it close it; the focus goes back to where it was. */
export function Dialog(props: DialogProps) {
  const { isOpen, ...rest } = props
  const opener = useRef<Element>(null)

  // Before anything in it takes the focus.
  useInsertionEffect(() => {
    if (isOpen) opener.current = document.activeElement
  }, [isOpen])

  return isOpen && <DialogLayer {...rest} opener={opener} />
}
