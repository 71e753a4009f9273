import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react'
import { Button } from './button.tsx'
import { classes } from './classes.ts'

interface Toast {
  id: number
  text: string
  kind: 'done' | 'error'
  action?: { label: string; run(): void } | undefined
}

interface Toasts {
  /** Says that something was done, with a way back where there is one. */
  done(text: string, action?: Toast['action']): void
  failed(error: unknown): void
}

const Context = createContext<Toasts>({ done: () => undefined, failed: () => undefined })
export const useToasts = () => useContext(Context)

const shownMs = 8_000
let nextId = 0

/** Short news at the edge of the page; read aloud without taking the focus. */
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
            <span>{text}</span>
            {action && (
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
