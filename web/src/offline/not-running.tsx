import { useEffect, useState } from 'react'
import { Button, CommandLine } from '../components/controls.tsx'
import { t } from '../strings/strings.ts'
import { waitingOf } from './outbox.ts'
import { removeWaiting, type WaitingMessage } from './waiting-store.ts'

const firstPauseMs = 1_000
const maxPauseMs = 10_000

/** In place of the page while the daemon does not answer. It looks again by itself. */
export function NotRunning({ user, onRetry }: { user: string; onRetry(): void }) {
  const [waiting, setWaiting] = useState<readonly WaitingMessage[]>([])

  useEffect(() => {
    waitingOf(user).then(setWaiting, () => undefined)
  }, [user])

  useEffect(() => {
    let pauseMs = firstPauseMs
    let timer = setTimeout(look, pauseMs)
    function look(): void {
      onRetry()
      pauseMs = Math.min(pauseMs * 2, maxPauseMs)
      clearTimeout(timer)
      timer = setTimeout(look, pauseMs)
    }
    window.addEventListener('online', look)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('online', look)
    }
  }, [onRetry])

  async function cancel(key: string): Promise<void> {
    await removeWaiting(key)
    setWaiting(await waitingOf(user))
  }

  return (
    <main className="flex h-full items-center justify-center overflow-y-auto p-6">
      <div className="w-full max-w-md">
        <img src="/icon.svg" alt="" width={48} height={48} className="mb-4" />
        <div role="alert">
          <h1 className="text-2xl font-semibold tracking-tight">{t.offline.notRunning}</h1>
        </div>
        <p className="mt-2 mb-3 text-soft">{t.offline.startIt}</p>
        <CommandLine command="familiar start" />
        <p className="mt-3 text-sm text-soft">{t.offline.opensByItself}</p>
        <Button className="mt-4" onClick={onRetry}>
          {t.common.tryAgain}
        </Button>
        {waiting.length > 0 && (
          <section aria-label={t.offline.waitingMessages} className="mt-8">
            <h2 className="mb-1 text-sm font-medium text-soft">{t.offline.waitingMessages}</h2>
            <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
              {waiting.map(({ key, text }) => (
                <li key={key} className="flex items-center gap-2 px-3 py-1.5 text-sm">
                  <span className="line-clamp-2 min-w-0 flex-1 break-words">{text || t.offline.onlyFiles}</span>
                  <Button size="small" kind="quiet" onClick={() => void cancel(key)}>
                    {t.common.cancel}
                  </Button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </main>
  )
}
