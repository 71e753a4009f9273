import { Dialog as Primitive } from 'radix-ui'
import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type TextareaHTMLAttributes,
  useId,
  useInsertionEffect,
  useRef,
} from 'react'
import { t } from '../strings/strings.ts'
import { classes, IconButton } from './controls.tsx'
import { Icon } from './icon.tsx'

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

/** A question or a form above the page. Escape and a click beside it close it; the focus goes back to where it was. */
export function Dialog(props: {
  isOpen: boolean
  onClose(): void
  title: string
  description?: string
  children: ReactNode
}) {
  const { isOpen, onClose, title, description, children } = props
  const opener = useRef<Element>(null)

  // Before anything in it takes the focus.
  useInsertionEffect(() => {
    if (isOpen) opener.current = document.activeElement
  }, [isOpen])

  /** The element that opened it may be gone, such as a menu item: then the focus goes to the content. */
  function giveFocusBack(event: Event): void {
    event.preventDefault()
    const { current } = opener
    const target = current?.isConnected && current !== document.body ? current : document.getElementById('main')
    if (target instanceof HTMLElement) target.focus()
  }

  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        {/* Not the primitive's own, which writes a style sheet into the page: the policy forbids that. */}
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-black/40" />
        <Primitive.Content
          {...(description === undefined && { 'aria-describedby': undefined })}
          onCloseAutoFocus={giveFocusBack}
          className="fixed inset-x-0 top-[8vh] z-50 mx-auto max-h-[84vh] w-[min(36rem,calc(100vw-1.5rem))] overflow-y-auto rounded-2xl border border-line bg-raised p-5 shadow-xl"
        >
          <div className="mb-3 flex items-start justify-between gap-3">
            <div className="min-w-0">
              <Primitive.Title className="text-lg font-semibold">{title}</Primitive.Title>
              {description && (
                <Primitive.Description className="text-sm text-soft">{description}</Primitive.Description>
              )}
            </div>
            <Primitive.Close asChild>
              <IconButton label={t.common.close}>
                <Icon name="close" />
              </IconButton>
            </Primitive.Close>
          </div>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
