import { type ComponentType, lazy, type ReactNode, Suspense, useId, useState } from 'react'
import { t } from '../strings/strings.ts'

/** The parts that are loaded after the first screen, in the order in which they are loaded. */
const waiting: (() => Promise<unknown>)[] = []
let isPreloading = false

/** A part of the page that the first screen does without. The same part each time; a failed attempt is made again. */
export function loadLater<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let found: Promise<Part> | undefined
  async function get(): Promise<Part> {
    found ??= load()
    try {
      return await found
    } catch (error) {
      found = undefined
      throw new Error(t.palette.familiarUpdatedCannotReached, { cause: error })
    }
  }
  waiting.push(get)
  if (isPreloading) whenIdle(preloadNext)
  return get
}

/** Loads these parts one after the other while the browser is idle, so that the first use of each is immediate. */
export function preloadParts(): void {
  isPreloading = true
  whenIdle(preloadNext)
}

async function preloadNext(): Promise<void> {
  const load = waiting.shift()
  if (!load) return
  // One that fails is loaded with its first use.
  await load().catch(() => undefined)
  whenIdle(preloadNext)
}

function whenIdle(run: () => unknown): void {
  // Safari has none.
  if ('requestIdleCallback' in window) requestIdleCallback(run, { timeout: 3_000 })
  else setTimeout(run, 500)
}

/** A component that the first screen does without. `instead` is shown where it can no longer be loaded. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  instead: ComponentType<Props>,
): ComponentType<Props & { meanwhile?: ReactNode }> {
  let found: ComponentType<Props> | undefined
  const get = loadLater(async () => {
    found = await load()
    return found
  })
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each part, where its module begins.
  return function Later({ meanwhile = null, ...rest }) {
    const props = rest as unknown as Props
    // The same one as long as it is shown.
    const [Shown] = useState<ComponentType<Props>>(
      () => found ?? lazy(async () => ({ default: await get().catch(() => instead) })),
    )
    return (
      <Suspense fallback={meanwhile}>
        <Shown {...props} />
      </Suspense>
    )
  }
}

/** In place of a part of the page that can no longer be loaded: a newer Familiar has replaced it. */
export function OutOfDate({ onClose }: { onClose(): void }) {
  const id = useId()
  return (
    // The browser's own dialog: the one of the page may be the part that is missing.
    <dialog
      ref={(dialog) => {
        if (dialog && !dialog.open) dialog.showModal()
      }}
      aria-labelledby={id}
      onClose={onClose}
      className="m-auto max-w-md rounded-2xl border border-line bg-raised p-5 text-ink shadow-xl backdrop:bg-black/40"
    >
      <h2 id={id} className="text-lg font-semibold">
        {t.palette.reloadNeeded}
      </h2>
      <p className="mt-1 mb-4 text-sm text-soft">{t.palette.familiarUpdatedCannotReached}</p>
      <div className="flex gap-2">
        <button
          type="button"
          className="min-h-9 rounded-lg bg-accent px-3 py-1.5 font-medium text-accent-ink hover:brightness-110"
          onClick={() => location.reload()}
        >
          {t.palette.reloadPage}
        </button>
        <button
          type="button"
          className="min-h-9 rounded-lg border border-line px-3 py-1.5 font-medium hover:bg-sunken"
          onClick={onClose}
        >
          {t.common.close}
        </button>
      </div>
    </dialog>
  )
}
