import { Component, createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react'
import { Link } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { Button, classes } from './controls.tsx'

/** A message in place. Errors are announced at once. */
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

/** An error, with a retry button where retrying can help. */
export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <Notice kind="error">
      <bdi>{error.message}</bdi>{' '}
      {onRetry && (
        <Button size="small" kind="quiet" className="text-bad" onClick={onRetry}>
          {t.common.tryAgain}
        </Button>
      )}
    </Notice>
  )
}

/** An empty state: what belongs here and how to start. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mx-auto max-w-md px-4 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mt-1 text-sm text-soft">{children}</div>}
    </div>
  )
}

interface Toast {
  id: number
  text: string
  kind: 'done' | 'error'
  action?: { label: string; run(): void } | { label: string; href: string } | undefined
}

interface Toasts {
  /** Reports success, with an undo where there is one. */
  done(text: string, action?: Toast['action']): void
  failed(error: unknown): void
}

const Context = createContext<Toasts>({ done: () => undefined, failed: () => undefined })
export const useToasts = () => useContext(Context)

const shownMs = 8_000
let nextId = 0

/** Short messages at the edge of the page, announced without taking the focus. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const add = useCallback(
    (toast: Omit<Toast, 'id'>) => {
      nextId += 1
      const id = nextId
      setToasts((all) => [...all.slice(-3), { ...toast, id }])
      setTimeout(() => remove(id), shownMs)
    },
    [remove],
  )
  const value = useMemo<Toasts>(
    () => ({
      done: (text, action) => add({ text, kind: 'done', action }),
      failed: (error) => add({ text: error instanceof Error ? error.message : String(error), kind: 'error' }),
    }),
    [add],
  )
  return (
    <Context value={value}>
      {children}
      <div
        role="status"
        aria-live="polite"
        className="pointer-events-none fixed inset-x-0 top-4 z-50 flex flex-col items-center gap-2 px-4"
      >
        {toasts.map(({ id, text, kind, action }) => (
          <div
            key={id}
            className={classes(
              'pointer-events-auto flex max-w-lg items-center gap-3 rounded-xl border bg-raised px-4 py-2 text-sm shadow-lg',
              kind === 'error' ? 'border-bad text-bad' : 'border-line',
            )}
          >
            <span dir="auto">{text}</span>
            {action && 'href' in action && (
              <Link href={action.href} className="shrink-0 text-accent hover:underline" onClick={() => remove(id)}>
                {action.label}
              </Link>
            )}
            {action && 'run' in action && (
              <Button
                size="small"
                kind="quiet"
                onClick={() => {
                  remove(id)
                  action.run()
                }}
              >
                {action.label}
              </Button>
            )}
          </div>
        ))}
      </div>
    </Context>
  )
}

interface RawOnErrorProps {
  /** Shown instead when rendering fails. */
  raw: string
  children: ReactNode
}

/**
 * One message or card that cannot be drawn is shown as its raw text; the conversation around it stays usable. New text is tried
 * again, because a reply that streams in may be drawable a moment later.
 */
export class RawOnError extends Component<RawOnErrorProps, { failed: string | undefined }> {
  override state = { failed: undefined as string | undefined }

  static getDerivedStateFromError(): { failed: string } {
    return { failed: '' }
  }

  static getDerivedStateFromProps({ raw }: RawOnErrorProps, { failed }: { failed: string | undefined }) {
    if (failed === undefined) return null
    if (failed === '') return { failed: raw || ' ' }
    return failed === (raw || ' ') ? null : { failed: undefined }
  }

  override render() {
    if (this.state.failed === undefined) return this.props.children
    return (
      <div className="space-y-2">
        <Notice kind="warning">{t.common.cannotDisplay}</Notice>
        <pre className="whitespace-pre-wrap font-mono text-[0.8125rem]">{this.props.raw}</pre>
      </div>
    )
  }
}
