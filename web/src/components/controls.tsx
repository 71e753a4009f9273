import {
  type ButtonHTMLAttributes,
  cloneElement,
  type ReactElement,
  type ReactNode,
  type SyntheticEvent,
  useState,
} from 'react'
import { useWho } from '../shell/account.tsx'
import { t } from '../strings/strings.ts'
import { Icon, type IconName } from './icon.tsx'
import { later, OutOfDate } from './later.tsx'

/** The names that apply, as one string. */
export function classes(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ')
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'plain' | 'main' | 'quiet' | 'danger'
  size?: 'usual' | 'small'
  /** A request is running: the button is disabled. */
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

export type BadgeKind = 'plain' | 'good' | 'warn' | 'bad' | 'busy'

const dots: Record<BadgeKind, string | undefined> = {
  plain: undefined,
  good: 'bg-good',
  warn: 'bg-warn',
  bad: 'bg-bad',
  busy: 'bg-accent breathing',
}

/** A state in a word or two. The color repeats it. */
export function Badge({ kind = 'plain', children }: { kind?: BadgeKind; children: ReactNode }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5 whitespace-nowrap rounded-full bg-sunken px-2 py-0.5 text-xs text-soft">
      {dots[kind] && <span aria-hidden="true" className={classes('size-2 rounded-full', dots[kind])} />}
      {children}
    </span>
  )
}

export function CopyButton({
  text,
  label = t.common.copy,
}: {
  text: string | (() => Promise<string>)
  label?: string
}) {
  const [isCopied, setIsCopied] = useState(false)
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
    setIsCopied(true)
    setTimeout(() => setIsCopied(false), 1_500)
  }
  return (
    <button
      type="button"
      onClick={() => void copy()}
      className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink"
    >
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
      {isCopied ? t.common.copied : label}
    </button>
  )
}

/** A command for a terminal on the machine that Familiar runs on: what the page may not do by itself (SEC-4). */
export function CommandLine({ command: wanted }: { command: string }) {
  const { command: written } = useWho()
  // On a machine where `familiar` is not on the PATH the command is shown with the path to it.
  const command = wanted.startsWith('familiar ') ? written.replace('WORDS', () => wanted.slice(9)) : wanted
  return (
    <span className="flex items-center gap-2 rounded-lg bg-sunken py-0.5 ps-3 pe-1">
      <code className="min-w-0 flex-1 py-1 font-mono text-[0.8125rem]">{command}</code>
      <CopyButton text={command} />
    </span>
  )
}

export interface MenuItem {
  label: string
  icon?: IconName
  onSelect(): void
  isDangerous?: boolean
  isDisabled?: boolean
}

interface MenuProps {
  trigger: ReactElement<ButtonHTMLAttributes<HTMLButtonElement>>
  items: readonly MenuItem[]
}

const MenuLayer = later<MenuProps & { isByKey: boolean; onMissing(): void }>(
  async () => (await import('./layers.tsx')).MenuLayer,
  ({ trigger, onMissing }) => (
    <>
      {trigger}
      <OutOfDate onClose={onMissing} />
    </>
  ),
)

/** A menu behind one button. Until that is first pressed, there is only the button: a list has many of them. */
export function Menu({ trigger, items }: MenuProps) {
  const [pressedBy, setPressedBy] = useState<'key' | 'pointer'>()
  if (pressedBy) {
    const isByKey = pressedBy === 'key'
    const onMissing = () => setPressedBy(undefined)
    return <MenuLayer {...{ trigger, items, isByKey, onMissing }} meanwhile={trigger} />
  }

  function press(event: SyntheticEvent, by: 'key' | 'pointer'): void {
    // The menu takes the focus.
    event.preventDefault()
    setPressedBy(by)
  }
  return cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerDown: (event) => event.button === 0 && !event.ctrlKey && press(event, 'pointer'),
    onKeyDown: (event) => ['Enter', ' ', 'ArrowDown'].includes(event.key) && press(event, 'key'),
  })
}
